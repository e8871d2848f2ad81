/** On the command line models start at most a hundred children for one message, unless the person says how many; in code there is no limit. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openApplication } from "../../../../src/app/cli/application/open.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { agent, type ModelChoice } from "../../../../src/core/agent.ts";
import type { EventOf, SousEvent } from "../../../../src/core/event.ts";
import type { Message } from "../../../../src/core/message.ts";
import type { Model } from "../../../../src/core/model.ts";
import { tool } from "../../../../src/core/tool.ts";
import { rerun } from "../../../../src/rerun.ts";
import { createRuntime, runtimeOn } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { type Script, type ScriptTurn, says, calls as step } from "../../../../src/testing/steps.ts";
import { agentFile, agentStage, calls, DONE, type Ran } from "../../../support/app/cli/agent-stage.ts";

const SENTENCE =
  "Execution limit reached: 100/100 for one message. Do the rest yourself and say what is missing. A person allows more with --max-agents N or agent.subagent.max_executions.";
const HERE = [{ text: "Here." }];

const tasks = (count: number, from = 0): object[] =>
  Array.from({ length: count }, (_, index) => ({ label: `t${from + index}`, task_prompt: `Part ${from + index}.` }));

/** Three hundred in one answer. */
const BATCHES = {
  calls: [0, 100, 200].map((from) => ({ tool: "parallel_subagent", input: { tasks: tasks(100, from) } })),
};

function counted({ starts, refused }: Ran): [started: number, refused: number] {
  return [starts.length - 1, refused.length];
}

suite("a model that starts children without end", () => {
  test("a hundred of three hundred in one answer start, and each of the others is a result that says why", async () => {
    await using here = await agentStage();
    const ran = await here.run({ sous: [BATCHES, ...DONE], "**": HERE });
    assert.deepEqual(counted(ran), [100, 200]);
    assert.deepEqual(
      [...new Set(ran.refused.map(({ message, errorType }) => `${errorType}: ${message}`))],
      [`quota: ${SENTENCE}`],
    );
    const answers = ran.results.flatMap(
      ({ output }) => JSON.parse(output).results as { success: boolean; error?: string }[],
    );
    assert.deepEqual(
      [answers.filter(({ success }) => success).length, answers.filter(({ error }) => error === SENTENCE).length],
      [100, 200],
    );
    assert.equal(ran.result.status, "completed");
  });

  test("those of children and grandchildren count for the same message, by whatever tool they are started", async () => {
    await using here = await agentStage({ "config/sous/agents/scout.md": agentFile("scout", "delegate: true") });
    const part = (name: string, more: object = {}) =>
      calls("subagent", { label: name, task_prompt: `Do ${name}.`, ...more });
    const many = (name: string) =>
      calls("parallel_subagent", {
        tasks: tasks(30).map((task, index) => ({ ...task, task_prompt: `Do ${name} ${index}.` })),
      });
    const script = {
      sous: [
        part("one"),
        calls("subagent_scout", { task: "Look." }),
        part("behind", { background: true }),
        calls("subagent_wait", {}),
        part("two"),
        part("three"),
        ...DONE,
      ],
      "sous/one": [many("below one"), ...DONE],
      "sous/scout": [many("below scout"), ...DONE],
      "sous/behind": [many("behind"), ...DONE],
      "sous/two": [part("deep"), ...DONE],
      "sous/two/deep": [many("deepest"), ...DONE],
      "**": HERE,
    };
    const ran = await here.run(script);
    assert.deepEqual(counted(ran), [100, 26]);
  });

  test("what the person says holds in its place: a flag, a variable's file, more or fewer", async () => {
    for (const [files, options, expected] of [
      [{}, ["--max-agents", "150"], [150, 150]],
      [{}, ["--max-agents", "20"], [20, 280]],
      [{ "config/sous/config.yaml": "agent: { subagent: { max_executions: 1000 } }\n" }, [], [300, 0]],
    ] as const) {
      await using here = await agentStage(files);
      assert.deepEqual(counted(await here.run({ sous: [BATCHES, ...DONE], "**": HERE }, ...options)), expected);
    }
  });

  test("a project that is trusted lowers the number and does not raise it", async () => {
    for (const [most, expected, warnings] of [
      [30, [30, 270], 0],
      [5000, [100, 200], 1],
    ] as const) {
      await using here = await agentStage({
        "project/.sous/config.yaml": `agent: { subagent: { max_executions: ${most} } }\n`,
      });
      await here.trust();
      const ran = await here.run({ sous: [BATCHES, ...DONE], "**": HERE });
      assert.deepEqual([counted(ran), ran.warnings.length], [expected, warnings], ran.warnings.join());
      if (warnings > 0)
        assert.match(
          ran.warnings[0] ?? "",
          /max_executions is ignored: a project may only lower it, and yours is 100$/,
        );
    }
  });
});

suite("the next message", () => {
  test("it begins at none again, and children that were refused for other reasons count for none", async () => {
    await using here = await agentStage();
    const unknown = { label: "x", task_prompt: "Look.", agent: "nobody" };
    const script = {
      sous: [
        { calls: [...BATCHES.calls.slice(0, 1), { tool: "subagent", input: unknown }] },
        ...DONE,
        BATCHES,
        ...DONE,
      ],
      "**": HERE,
    };
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${here.path}/answers.json`, JSON.stringify(script));
    const { values } = readOptions(RUN, ["--model", `script/${here.path}/answers.json`, "--ephemeral"]);
    await using application = await openApplication({
      flags: readRunFlags(values),
      cwd: here.root,
      env: here.env,
      ask: undefined,
      warn: () => {},
    });
    const events: SousEvent[] = [];
    const onEvent = (event: SousEvent) => void events.push(event);
    const startsSince = (at: number) =>
      events.slice(at).filter((event): event is EventOf<"run-start"> => event.type === "run-start" && event.depth > 0)
        .length;
    const handle = application.runtime.run(application.agent, "Go.", { ...application.runOptions, onEvent });
    await handle.result;
    assert.equal(startsSince(0), 100);
    const before = events.length;
    await handle.followUp("And again.").result;
    assert.equal(startsSince(before), 100);
  });
});

suite("in code", () => {
  const lead = (script: Script) =>
    agent({ name: "lead", model: scriptedModel({ "**": () => [says("Here.")], ...script }), delegate: true });
  const idIn = (messages: readonly Message[]) => /subagent_id: (\w+)/.exec(JSON.stringify(messages))?.[1] ?? "";
  const three = { perMessage: { children: 3, advice: "Ask for more." } };
  const given = (choice: ModelChoice) => choice as Model;

  test("a hundred and fifty children run without a limit", async () => {
    const script = { lead: [step("parallel_subagent", { tasks: tasks(150) }), says("Done.")] };
    assert.equal((await createRuntime().run(lead(script), "Go.")).agents.length, 151);
  });

  test("a message of a model to a child that has ended counts, because it is another run; one of the program does not", async () => {
    const again: ScriptTurn = ({ messages }) =>
      step("subagent_send", { subagent_id: idIn(messages), message: "Again." });
    const waiting = Promise.withResolvers<void>();
    const pause = tool({
      name: "pause",
      description: "Waits.",
      inputSchema: { type: "object" },
      execute: () => waiting.promise.then(() => "Go on."),
    });
    const starting = step("subagent", { label: "a", task_prompt: "Part." });
    const root = lead({ lead: [starting, step("pause"), again, again, again, says("Done.")] }).with({ tools: [pause] });
    const events: SousEvent[] = [];
    const handle = runtimeOn(given, {}, three).run(root, "Go.", { onEvent: (event) => void events.push(event) });
    while (!events.some((event) => event.type === "tool-call-start" && event.toolName === "pause"))
      await new Promise((next) => setImmediate(next));
    for (const message of ["One.", "Two.", "Three."]) await handle.send("lead/a", message);
    waiting.resolve();
    await handle.result;
    const refused = events.flatMap((event) => (event.type === "spawn-refused" ? [event.message] : []));
    assert.deepEqual(refused, [
      "Execution limit reached: 3/3 for one message. Do the rest yourself and say what is missing. Ask for more.",
    ]);
    assert.equal(events.filter(({ type, path }) => type === "run-start" && path === "lead/a").length, 6);
  });

  test("a fan-out of the program does not count, and what its children start does", async () => {
    const script: Script = { "fan-out/*": [step("parallel_subagent", { tasks: tasks(1) }), says("Done.")] };
    const worker = lead(script);
    const events: SousEvent[] = [];
    const results = await runtimeOn(given, {}, three).fanOut(worker, ["a", "b", "c", "d", "e"], {
      onEvent: (event) => void events.push(event),
    });
    assert.deepEqual(
      results.map(({ status }) => status),
      Array(5).fill("completed"),
    );
    const starts = events.filter(({ type, depth }) => type === "run-start" && depth === 2).length;
    assert.deepEqual([starts, events.filter(({ type }) => type === "spawn-refused").length], [3, 2]);
  });

  test("those that were started before a restart count for the same message", async () => {
    const store = openMemoryStore();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      tier: "confirm",
      inputSchema: { type: "object" },
      execute: () => "Paid.",
    });
    const below = step("subagent", { label: "below", task_prompt: "Look." });
    const root = lead({
      lead: [
        step("parallel_subagent", { tasks: tasks(1) }),
        step("pay"),
        step("parallel_subagent", { tasks: tasks(4, 9) }),
        says("Done."),
      ],
      "lead/t0": [below, says("Done.")],
    }).with({ tools: [pay] });
    const options = { store, requireStore: true, agents: [root], approve: () => "later" as const };
    const parked = await runtimeOn(given, options, three).run(root, "Go.");
    assert.equal(parked.agents.length, 3);
    const answers = { [parked.questions[0]?.id ?? ""]: { allow: true as const } };
    const { agents } = await runtimeOn(given, options, three).resume(parked.runId, { answers });
    assert.equal(agents.length, 4);
  });

  test("a child that never starts gives its place back", async () => {
    const parts = [
      step("subagent", { label: "a", task_prompt: "Too much.", agent: "dear" }),
      step("parallel_subagent", { tasks: tasks(3) }),
    ];
    const dear = agent({ name: "dear", budget: { tokens: 10 } });
    const { agents } = await runtimeOn(given, { agents: [dear] }, three).run(
      lead({ lead: [...parts, says("Done.")] }),
      "Go.",
    );
    assert.equal(agents.length, 4);
  });

  test("a rerun refuses the same children without knowing the limit", async () => {
    const store = openMemoryStore();
    const script = { lead: [step("parallel_subagent", { tasks: tasks(5) }), says("Done.")] };
    const { runId } = await runtimeOn(given, { store }, three).run(lead(script), "Go.");
    const again = await rerun(runId, { store });
    assert.deepEqual([again.matches, again.firstDifference], [true, undefined]);
  });
});
