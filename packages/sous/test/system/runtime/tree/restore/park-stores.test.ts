/** Parked trees in real stores, in a fan-out from code, and where a question cannot wait. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { Store } from "../../../../../src/core/store.ts";
import { type Tool, tool } from "../../../../../src/core/tool.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { openPostgresStore } from "../../../../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../../../../src/storage/store/sqlite/store.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, type Script, says } from "../../../../../src/testing/steps.ts";
import { openTown, resultsIn } from "../../../../support/runtime/tree/restore/parking.ts";
import { startPostgresServer } from "../../../../support/storage/store/postgres-server.ts";

const delegates: Script = {
  lead: (request) =>
    resultsIn(request, "subagent").length === 0
      ? calls("subagent", { label: "a", task_prompt: "Do a." })
      : says(resultsIn(request, "subagent").join()),
  "lead/*": (request) => (resultsIn(request, "pay").length === 0 ? calls("pay") : says(`${resultsIn(request, "pay")}`)),
};

/** Each life has a connection of its own, and the first is closed before the second begins. */
async function parksAndResumes(open: () => Promise<Store>): Promise<void> {
  let id = "";
  let questionId = "";
  {
    await using store = await open();
    const { handle, result } = await openTown({ script: delegates, store, isReal: true }).process().run();
    id = handle.id;
    questionId = result.questions[0]?.id ?? "";
    assert.deepEqual(
      (await store.tree(id)).map(({ path, status }) => [path, status]),
      [
        ["lead", "waiting"],
        ["lead/a", "waiting"],
      ],
    );
    // The claim is given back: another connection need not wait for a lease to run out.
    await using other = await open();
    const { fence } = await other.claim(id);
    await other.release(id, fence);
  }
  await using store = await open();
  const town = openTown({ script: delegates, store, isReal: true });
  const { result } = await town.process().resume(id, { answers: { [questionId]: { allow: true } } });
  assert.equal(result.status, "completed");
  assert.deepEqual(town.ran, ["lead/a pay"]);
  assert.deepEqual(checkHistory(await store.read(id), { resultUsage: result.usage }), []);
}

suite("G7: a parked tree", () => {
  test("a parked tree is resumed from SQLite by another connection", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-park-"));
    await parksAndResumes(() => openSqliteStore(join(folder, "runs.db")));
    await rm(folder, { recursive: true });
  });

  test("a parked tree is resumed from Postgres by another connection", async () => {
    await using server = await startPostgresServer();
    await parksAndResumes(() => openPostgresStore({ connectionString: server.connectionString() }));
  });

  test("a parked tree may be a fan-out: each input says what it waits for, and answers go with resumes", async () => {
    const ran: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      tier: "confirm",
      inputSchema: { type: "object", properties: {} },
      execute: (_input, { path }) => ran.push(path) && "paid",
    }) as Tool;
    const model = scriptedModel({
      "*": (request) =>
        /rich/.test(JSON.stringify(request.messages[0])) && resultsIn(request, "pay").length === 0
          ? calls("pay")
          : says(`Done ${resultsIn(request, "pay")}`),
      "*/*": (request) =>
        /rich/.test(JSON.stringify(request.messages[0])) && resultsIn(request, "pay").length === 0
          ? calls("pay")
          : says(`Done ${resultsIn(request, "pay")}`),
    });
    const clerk = agent({ name: "clerk", model, tools: [pay] });
    const store = openMemoryStore();
    const runtime = createRuntime({ store, approve: () => "later" });
    const inputs = ["rich one", "poor", "rich two"];
    const first = await runtime.fanOut(clerk, inputs, { concurrency: 1 });
    assert.deepEqual(
      first.map(({ status, stopReason, questions }) => [status, stopReason, questions.length]),
      [
        ["incomplete", "consent", 1],
        ["completed", undefined, 0],
        ["incomplete", "consent", 1],
      ],
    );
    const [root] = await store.list({ rootsOnly: true });
    const answers = Object.fromEntries(
      first.flatMap(({ questions }) => questions.map(({ id }) => [id, { allow: true } as const])),
    );
    await assert.rejects(runtime.fanOut(clerk, inputs, { resumes: "01ARZ3NDEKTSV4RRFFQ69G5FAV" }), {
      message: "No run with the id 01ARZ3NDEKTSV4RRFFQ69G5FAV in this store",
    });
    // Its results name the runs of its inputs, and one of them is enough to find the fan-out.
    const second = await runtime.fanOut(clerk, inputs, { resumes: first[2]?.runId, answers });
    assert.deepEqual(
      second.map(({ status, text }) => [status, text]),
      [
        ["completed", "Done paid"],
        ["completed", "Done "],
        ["completed", "Done paid"],
      ],
    );
    assert.equal(ran.length, 2);
    assert.deepEqual(checkHistory(await store.read(root?.id ?? "")), []);
  });

  test("a parked tree holds no money while it waits, and continues with what was left", async () => {
    const town = openTown({ script: delegates });
    const { handle, result } = await town.process().run({ budget: { tokens: 50_000 } });
    assert.deepEqual(
      handle.spending().limits.map(({ reserved }) => reserved),
      handle.spending().limits.map(() => 0),
    );
    assert.deepEqual(handle.spending().runs, []);
    const second = await town
      .process()
      .resume(handle.id, { answers: { [result.questions[0]?.id ?? ""]: { allow: true } } });
    assert.equal(second.result.status, "completed");
  });
});

suite("G7: a parked tree with a shared budget", () => {
  test("a parked tree with a shared budget reserves nothing of it, and continues with it: each token and each start counts once", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-park-"));
    {
      await using store = await openSqliteStore(join(folder, "runs.db"));
      const from = await store.sharedBudget("team", { tokens: 100_000, executions: 10 });
      const town = openTown({ script: delegates, store, isReal: true });
      const { result, handle } = await town.process().run({ budget: { from } });
      assert.deepEqual(await from.left(), { tokens: 100_000 - result.usage.totalTokens, executions: 9 });
      const answers = { [result.questions[0]?.id ?? ""]: { allow: true } } as const;
      const second = await town.process().resume(handle.id, { answers, sharedBudget: from });
      assert.equal(second.result.status, "completed");
      assert.deepEqual(await from.left(), { tokens: 100_000 - second.result.usage.totalTokens, executions: 9 });
    }
    await rm(folder, { recursive: true });
  });
});

suite("G7: a question that cannot wait is refused in words", () => {
  test("a question is refused below a call that is not made again after a restart", async () => {
    const spawns = (effect: "unsafe" | "idempotent") =>
      tool({
        name: "hand_on",
        description: "Hands on.",
        effect,
        inputSchema: { type: "object", properties: {} },
        async execute(_input, { spawn }) {
          const reply = await spawn({ label: "a", task: "Do a." });
          return reply.kind === "ended" ? reply.report.text : reply.kind;
        },
      }) as Tool;
    const script: Script = {
      lead: (request) =>
        resultsIn(request, "hand_on").length === 0 ? calls("hand_on") : says(resultsIn(request, "hand_on").join()),
      "lead/a": (request) =>
        resultsIn(request, "pay").length === 0 ? calls("pay") : says(resultsIn(request, "pay").join()),
    };
    const unsafe = await openTown({ script, tools: () => [spawns("unsafe")] })
      .process()
      .run();
    assert.deepEqual(
      [unsafe.result.status, unsafe.result.stopReason, unsafe.result.questions],
      ["incomplete", "consent", []],
    );
    assert.match(unsafe.result.text, /the answer comes later, and a restart does not continue lead\/a/);
    const town = openTown({ script, tools: () => [spawns("idempotent")] });
    const { handle, result } = await town.process().run();
    const answers = { [result.questions[0]?.id ?? ""]: { allow: true } } as const;
    const second = await town.process().resume(handle.id, { answers });
    assert.deepEqual([second.result.text, town.ran], ["pay done", ["lead/a pay"]]);
  });

  test("a question is refused when the store has failed by then, and the run ends in the ordinary way", async () => {
    const memory = openMemoryStore();
    let isBroken = false;
    const store: Store = new Proxy(memory, {
      get(target, name) {
        if (name === "append" && isBroken) return () => Promise.reject(new Error("disk full"));
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const script: Script = { lead: [[calls("pay"), calls("look")], says("I stop.")] };
    const town = openTown({ script, store });
    const { result, events } = await town.process().run({
      during(_handle, event) {
        if (event.type === "approval-request") isBroken = true;
      },
    });
    assert.deepEqual([result.status, result.questions, result.lost !== undefined], ["incomplete", [], true]);
    assert.equal(events.at(-1)?.type, "run-end");
  });
});
