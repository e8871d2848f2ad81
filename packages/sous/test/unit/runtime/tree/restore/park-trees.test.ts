/** Random trees that park: whatever the order of answers and processes, every call runs once and nothing is left open. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { GivenAnswer } from "../../../../../src/core/approval.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import { rerun } from "../../../../../src/rerun.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { type Answer, after, calls, type Script, says } from "../../../../../src/testing/steps.ts";
import { createWorld } from "../../../../../src/testing/world.ts";
import { spansOf, traceProblems } from "../../../../support/bridges/telemetry/traced.ts";
import { openTown } from "../../../../support/runtime/tree/restore/parking.ts";

const SEEDS = 8;

type Node = {
  pays: number;
  looks: number;
  waitMs: number;
  children: Node[];
  how: "parallel" | "single" | "background";
};

function randomNode(draw: () => number, depth: number): Node {
  const children = depth >= 2 ? [] : Array.from({ length: Math.floor(draw() * 4) }, () => randomNode(draw, depth + 1));
  const how = draw() < 0.4 ? "parallel" : draw() < 0.5 ? "single" : "background";
  return {
    pays: Math.floor(draw() * 2.5),
    looks: Math.floor(draw() * 2),
    waitMs: Math.floor(draw() * 50),
    children,
    how,
  };
}

/** In its first turn a run makes all its calls; in its second it says what came of them, or waits for reports. */
function scriptOf(root: Node): Script {
  const script: Record<string, (request: ModelRequest) => Answer> = {};
  const add = (node: Node, path: string): void => {
    for (const [index, child] of node.children.entries()) add(child, `${path}/c${index}`);
    script[path] = (request) =>
      request.messages.some(({ role }) => role === "tool") ? says("Done.") : firstTurn(node, path);
  };
  add(root, "lead");
  return script;
}

function firstTurn(node: Node, path: string): Answer {
  const tasks = node.children.map((_, index) => ({ label: `c${index}`, task_prompt: `Do part ${index} of ${path}.` }));
  const spawns =
    tasks.length === 0
      ? []
      : node.how === "parallel"
        ? [calls("parallel_subagent", { tasks })]
        : tasks.map((task) => calls("subagent", { ...task, background: node.how === "background" }));
  const own = [
    ...Array.from({ length: node.pays }, (_, index) => calls("pay", { amount: index })),
    ...Array.from({ length: node.looks }, () => calls("look")),
  ];
  const all = [...own, ...spawns];
  return all.length === 0 ? [after(node.waitMs), says("Nothing to do.")] : [after(node.waitMs), ...all];
}

function paysIn(node: Node): number {
  return node.pays + node.children.reduce((sum, child) => sum + paysIn(child), 0);
}

suite("G7: random trees that park", () => {
  test(`random trees that park end with every payment answered once, in ${SEEDS} trees`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const draw = createWorld({ seed }).random("tree");
      const root = randomNode(draw, 0);
      const town = openTown({ script: scriptOf(root) });
      let { result, handle, events } = await town.process().run();
      const processes = [events];
      const given = new Map<string, boolean>();
      for (let lives = 1; result.questions.length > 0; lives++) {
        assert.ok(lives < 100, `seed ${seed}: parks for ever`);
        assert.deepEqual([result.status, result.stopReason], ["incomplete", "consent"], `seed ${seed}`);
        const chosen = result.questions.filter(() => draw() < 0.6);
        const answers: Record<string, GivenAnswer> = {};
        for (const { id } of chosen) {
          assert.equal(given.has(id), false, `seed ${seed}: ${id} is asked again`);
          answers[id] = draw() < 0.7 ? { allow: true } : { allow: false };
          given.set(id, answers[id].allow);
        }
        ({ result, events } = await town.process().resume(handle.id, { answers }));
        processes.push(events);
      }
      const stored = await town.events(handle.id);
      const where = `seed ${seed}`;
      assert.equal(result.status, "completed", where);
      assert.deepEqual(checkHistory(stored, { resultUsage: result.usage }), [], where);
      assert.equal(given.size, paysIn(root), where);
      const allowed = [...given.values()].filter(Boolean).length;
      assert.equal(town.ran.filter((each) => each.endsWith(" pay")).length, allowed, where);
      const looks = town.ran.filter((each) => each.endsWith(" look")).length;
      assert.equal(
        stored.filter((event) => event.type === "tool-call-start" && event.toolName === "look").length,
        looks,
        where,
      );
      assert.deepEqual(
        traceProblems(
          processes.flatMap((each) => spansOf(each.filter((event) => event.seq !== undefined))),
          stored,
        ),
        [],
        where,
      );
      const played = await rerun(handle.id, { store: town.store });
      assert.equal(played.firstDifference?.sentence, undefined, where);
      assert.equal(played.matches, true, where);
    }
  });

  test("the questions of a run name its own calls, and no other process can answer them twice at once", async () => {
    const town = openTown({ script: scriptOf({ pays: 1, looks: 0, waitMs: 0, children: [], how: "single" }) });
    const { handle, result } = await town.process().run();
    const [question] = result.questions;
    const answers = { [question?.id ?? ""]: { allow: true } } as const;
    const [one, other] = await Promise.allSettled([1, 2].map(() => town.process().resume(handle.id, { answers })));
    assert.deepEqual([one?.status, other?.status].sort(), ["fulfilled", "rejected"]);
    assert.deepEqual(town.ran, ["lead pay"]);
  });
});
