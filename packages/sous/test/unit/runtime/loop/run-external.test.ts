/** D5: an external agent is a child like any other: its session, its bill, its approvals and its end. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { externalModel } from "../../../../src/core/external-agent.ts";
import type { RuntimeOptions } from "../../../../src/core/runtime.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { calls, says, uses } from "../../../../src/testing/steps.ts";
import { ALLOW, type FakeWork, fakeClient, registryWith } from "../../../support/requirements/embedding.ts";
import { readBy, runTree, statuses, type TreePlan } from "../../../support/requirements/run-tree.ts";
import { simpleTool } from "../../../support/requirements/support.ts";
import { storedAtPrompt } from "../../../support/runtime/stored-at-prompt.ts";

const TASK = { task: "Fix it.", description: "a fix" };
const CHILD = "lead/a fix";

/** A lead that delegates once and says that it has seen the answer. */
function delegation(work: FakeWork, options: Parameters<typeof fakeClient>[1] = {}, plan: Partial<TreePlan> = {}) {
  const client = fakeClient(work, options);
  const ran: string[] = [];
  const tools = ["read_file", "write_file", "terminal"].map((name) =>
    simpleTool(name, (input) => {
      ran.push(`${name} ${JSON.stringify(input)}`);
      return `${name} is done`;
    }),
  );
  const trial = runTree({
    script: {
      lead: [
        [calls("subagent_delegate", TASK), uses({ input: 1, output: 1 })],
        [says("Seen."), uses({ input: 1, output: 1 })],
      ],
    },
    lead: { delegate: false, tools: [...registryWith({ client }), ...tools] },
    runtime: ALLOW,
    ...plan,
  });
  return { client, ran, trial };
}

test("D5: the session is recorded before the first prompt, and closed at the end", async () => {
  const { client, trial } = delegation(async (_prompt, { host }) => {
    host.onThought("Hm.");
    host.onText("Let me look.");
    host.onCall({ callId: "1", phase: "start", name: "Bash", kind: "execute", title: "ls", input: { command: "ls" } });
    host.onCall({ callId: "1", phase: "end", name: "Bash", kind: "execute", title: "ls", input: {}, output: "a.ts" });
    return "Fixed.";
  });
  const { stage, result } = await trial;
  const kinds = stage.events.filter(({ path, seq }) => path === CHILD && seq !== undefined).map(({ type }) => type);
  assert.deepEqual(kinds, [
    "run-start",
    "outside-session",
    "turn-start",
    "outside-call",
    "outside-call",
    "message-end",
    "run-end",
  ]);
  assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Fixed\./);
  assert.deepEqual([statuses(result)[CHILD], client.open.size], ["completed", 0]);
  assert.equal(result.agents[1]?.toolCount, 0);
});

suite("D5: the rights of an external agent", () => {
  const writes = { callId: "w", toolName: "write_file", input: { path: "a.ts", content: "x" } };

  async function answersOf(
    actions: readonly (typeof writes | { callId: string; toolName: string; input: unknown })[],
    runtime: RuntimeOptions = ALLOW,
  ) {
    const answers: boolean[] = [];
    const { trial } = delegation(
      async (_prompt, { host }) => {
        for (const action of actions) answers.push(await host.approve(action));
        return "Fixed.";
      },
      {},
      { runtime },
    );
    return { answers, ...(await trial) };
  }

  test("an external agent's own action is decided by the rules of the user, and denied by a rule even where a person would allow it", async () => {
    const rules: RuntimeOptions = {
      approve: {
        decide: ({ toolName }) =>
          toolName === "write_file" ? { effect: "deny", reason: "no writes" } : { effect: "allow" },
        ask: () => ({ allow: true }),
      },
    };
    const { answers } = await answersOf([writes, { ...writes, toolName: "terminal", input: { command: "ls" } }], rules);
    assert.deepEqual(answers, [false, true]);
  });

  test("an external agent's own action is never allowed outside of the working folder", async () => {
    const paths = ["../b.ts", "/etc/passwd", "./../b.ts", "/placement/b.ts"];
    const runtime = { ...ALLOW, host: { cwd: "/place" } };
    const { answers } = await answersOf(
      paths.map((path) => ({ ...writes, input: { path, content: "x" } })),
      runtime,
    );
    assert.deepEqual(answers, [false, false, false, false]);
  });

  test("an external agent's own action on a path that is not plain is allowed by a person only", async () => {
    const paths = ["a/../../b.ts", "/place/../etc/passwd", "a\0b", 7, "~/b.ts", "file:///place/b.ts"];
    const actions = paths.map((path) => ({ ...writes, input: { path, content: "x" } }));
    const answersWith = async (ask: () => { allow: boolean }) =>
      (
        await answersOf(actions, {
          approve: { decide: () => ({ effect: "allow" }), ask },
          host: { cwd: "/place" },
        })
      ).answers;
    assert.deepEqual(await answersWith(() => ({ allow: true })), [true, true, true, true, true, true]);
    assert.deepEqual(await answersWith(() => ({ allow: false })), [false, false, false, false, false, false]);
  });

  test("an external agent's own action is never one that its parent could not pass on", async () => {
    const client = fakeClient(async (_prompt, { host }) => {
      const allowed = [
        await host.approve(writes),
        await host.approve({ callId: "x", toolName: "launch", input: {} }),
        await host.approve({ callId: "r", toolName: "look", input: {} }),
      ];
      return JSON.stringify(allowed);
    });
    const { stage } = await runTree({
      script: { lead: [calls("subagent_delegate", TASK), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client }), simpleTool("look", () => "seen")] },
      runtime: ALLOW,
    });
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^\[false,false,true\]/);
  });

  test("an external agent's own action is not allowed when no one can be asked, and the run says so", async () => {
    const rules: RuntimeOptions = {
      approve: { decide: ({ toolName }) => ({ effect: toolName === "write_file" ? "ask" : "allow" }) },
    };
    const { answers, result } = await answersOf([writes], rules);
    assert.deepEqual([answers, result.status, result.stopReason], [[false], "incomplete", "consent"]);
    assert.deepEqual(result.agents[1]?.status, "incomplete");
  });

  test("an external agent's request to sous goes through the tools of the run", async () => {
    const outputs: string[] = [];
    const { ran, trial } = delegation(async (_prompt, { host }) => {
      outputs.push((await host.callTool({ ...writes, toolName: "read_file", input: { path: "a.ts" } })).output);
      outputs.push((await host.callTool({ ...writes, toolName: "launch", input: {} })).error ?? "");
      return "Fixed.";
    });
    const { stage } = await trial;
    assert.deepEqual(ran, ['read_file {"path":"a.ts"}']);
    assert.deepEqual([outputs[0], outputs[1]?.split(".")[0]], ["read_file is done", "Unknown tool: launch"]);
    assert.equal(stage.eventsOf("outside-call", CHILD).length, 4);
    assert.equal(stage.eventsOf("tool-call-start", CHILD).length, 0);
  });
});

suite("D5: an agent file whose model is an external agent", () => {
  const plan = (client: ReturnType<typeof fakeClient>, runtime: RuntimeOptions): TreePlan => ({
    script: {
      lead: [
        [
          calls("subagent_helper", { task: "One." }),
          calls("subagent", { label: "two", task_prompt: "Two.", agent: "helper" }),
          calls("parallel_subagent", { tasks: [{ label: "three", task_prompt: "Three.", agent: "helper" }] }),
        ],
        says("Seen."),
      ],
    },
    lead: { subagents: [agent({ name: "helper", description: "Helps.", model: "external/second-server" })] },
    runtime: { ...runtime, models: { external: client } },
  });

  test("an agent file whose model is an external agent asks as subagent_delegate, however it is called", async () => {
    const asked: unknown[] = [];
    const client = fakeClient(async ({ serverName }) => `Done by ${serverName}.`);
    const approve: RuntimeOptions["approve"] = {
      decide: ({ toolName }) => (toolName === "subagent_delegate" ? undefined : { effect: "allow" }),
      ask: ({ toolName, input }) => {
        asked.push([toolName, (input as { serverName: string }).serverName]);
        return { allow: asked.length === 1, reason: "one is enough" };
      },
    };
    const { stage, result } = await runTree(plan(client, { approve }));
    assert.deepEqual(asked, Array(3).fill(["subagent_delegate", "Second Server"]));
    assert.equal(client.prompts.length, 1);
    assert.match(readBy(stage, "subagent_helper")[0] ?? "", /^Done by Second Server\./);
    for (const tool of ["subagent", "parallel_subagent"])
      assert.match(readBy(stage, tool)[0] ?? "", /The user did not allow subagent_delegate: one is enough/);
    assert.equal(result.agents.length, 2);
    const { agent: name, model } = stage.eventsOf("run-start")[1] ?? {};
    assert.deepEqual([name, model], ["helper", "external/second-server"]);
  });

  test("an agent file whose model is an external agent cannot be named by a call, only by a definition", async () => {
    const client = fakeClient(async () => "Done.");
    const { stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent", { label: "one", task_prompt: "One.", model: "external/local" }),
            calls("parallel_subagent", { tasks: [{ label: "two", task_prompt: "Two.", model: "external/local" }] }),
          ],
          says("Seen."),
        ],
      },
      runtime: { ...ALLOW, models: { external: client } },
    });
    assert.equal(client.prompts.length, 0);
    for (const tool of ["subagent", "parallel_subagent"])
      assert.match(readBy(stage, tool)[0] ?? "", /external\/local is an external agent, and no call may name it/);
  });

  test("an agent file whose model is an external agent is unknown without its server", async () => {
    const client = { ...fakeClient(async () => "Done."), serverNames: ["local"] };
    const { stage } = await runTree(plan(client, ALLOW));
    assert.match(
      readBy(stage, "subagent_helper")[0] ?? "",
      /There is no agent server for the model external\/second-server: known: local/,
    );
  });
});

test("D5: an external agent is told its level, and what is left of every limit", async () => {
  const told: unknown[] = [];
  const { trial } = delegation(
    async (_prompt, { request }) => {
      told.push(request.allowance);
      return "Fixed.";
    },
    { timeoutMs: 60_000 },
    { run: { budget: { tokens: 50_000 } } },
  );
  await trial;
  // The root has spent 2 tokens, and keeps some for its last words.
  const [{ tokens, ...rest }] = told as [{ tokens: number }];
  assert.deepEqual(rest, { depth: 1, maxDepth: 3, costUsd: undefined, durationMs: 60_000 });
  assert.ok(tokens > 45_000 && tokens < 50_000, `${tokens}`);
});

suite("D5: the bill of an external agent", () => {
  const limited = (tokens: number): Partial<TreePlan> => ({ run: { budget: { tokens } } });

  test("usage that an external agent reports while it runs is covered or stops it, and its words stay", async () => {
    const { trial } = delegation(
      (_prompt, { host, signal }) => {
        host.onText("Half.");
        host.onUsage({ tokens: 15_000, costUsd: undefined });
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ stop: "cancelled" }));
          queueMicrotask(() => host.onUsage({ tokens: 25_000, costUsd: undefined }));
        });
      },
      {},
      limited(20_000),
    );
    const { stage, result } = await trial;
    const end = stage.eventsOf("run-end", CHILD)[0];
    assert.deepEqual([end?.status, end?.text, end?.usage.totalTokens], ["budget_exceeded", "Half.", 25_000]);
    assert.match(end?.fault?.message ?? "", /^Token limit exceeded: \d+\/20000/);
    assert.equal(result.usage.totalTokens, 25_002);
  });

  test("an external agent does not wait to grow while another call holds the rest", async () => {
    const others: (() => void)[] = [];
    const client = fakeClient((_prompt, { host, signal }) => {
      host.onUsage({ tokens: 9_000, costUsd: undefined });
      return new Promise((resolve) => {
        others.push(() => resolve("Done."));
        signal.addEventListener("abort", () => {
          resolve({ stop: "cancelled" });
          for (const end of others) end();
        });
      });
    });
    const { stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent_delegate", TASK),
            calls("subagent_delegate", { ...TASK, description: "another" }),
            uses({ input: 1, output: 1 }),
          ],
          [says("Seen."), uses({ input: 1, output: 1 })],
        ],
      },
      lead: { delegate: false, tools: [...registryWith({ client })] },
      runtime: ALLOW,
      run: { budget: { tokens: 14_000 }, onExhausted: "stop" },
    });
    const ends = stage.eventsOf("run-end").filter(({ depth }) => depth === 1);
    assert.deepEqual(ends.map(({ status }) => status).sort(), ["budget_exceeded", "completed"]);
  });

  test("a further prompt that cannot be paid is not sent, and no last words are asked for", async () => {
    const { client, trial } = delegation(
      async () => "First.",
      { usage: { inputTokens: 19_500, outputTokens: 400 } },
      {
        ...limited(20_000),
        during: ({ handle, stage }) =>
          stage.when(
            ({ type, path }) => type === "turn-start" && path === CHILD,
            () => handle.steer(CHILD, "And b.ts?"),
          ),
      },
    );
    const { stage } = await trial;
    const end = stage.eventsOf("run-end", CHILD)[0];
    assert.deepEqual([client.prompts.length, end?.status, end?.text], [1, "budget_exceeded", "First."]);
    assert.deepEqual(stage.eventsOf("notice", CHILD), []);
  });

  test("usage that an external agent does not report is not free: the reservation is charged", async () => {
    const { trial } = delegation(async () => "Fixed.", {}, limited(20_000));
    const { stage } = await trial;
    const [start] = stage.eventsOf("turn-start", CHILD);
    const [end] = stage.eventsOf("message-end", CHILD);
    assert.equal(start?.reserved, (start?.promptTokens ?? 0) + 4096);
    assert.deepEqual([end?.usage.totalTokens, end?.usage.estimated, end?.costUsd], [start?.reserved, true, null]);
  });

  test("under a limit of money an external agent is refused without max_cost, in words", async () => {
    const { client, trial } = delegation(
      async () => "Fixed.",
      {},
      { run: { budget: { costUsd: 1 } }, model: { price: { input: 1, output: 1 } } },
    );
    const { stage } = await trial;
    assert.equal(client.prompts.length, 0);
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /set agent_servers\.local\.max_cost/);
  });

  test("under a limit of money max_cost is the reservation of an external agent, and its bill when it reports none", async () => {
    for (const [reported, billed] of [
      [undefined, 0.4],
      [0.03, 0.03],
    ] as const) {
      const { trial } = delegation(
        async () => ({ text: "Fixed.", costUsd: reported }),
        { maxCostUsd: 0.4 },
        { run: { budget: { costUsd: 0.5 } }, model: { price: { input: 1, output: 1 } } },
      );
      const { stage } = await trial;
      assert.equal(stage.eventsOf("turn-start", CHILD)[0]?.reservedUsd, 0.4);
      assert.equal(stage.eventsOf("message-end", CHILD)[0]?.costUsd, billed);
    }
  });

  test("a prompt that may cost more than is left is not sent", async () => {
    const { client, trial } = delegation(
      async () => "Fixed.",
      { maxCostUsd: 0.6 },
      { run: { budget: { costUsd: 0.5 } }, model: { price: { input: 1, output: 1 } } },
    );
    const { stage } = await trial;
    assert.equal(client.prompts.length, 0);
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /Cost limit exceeded/);
  });
});

suite("D5: the end of an external agent", () => {
  const untilStopped: FakeWork = (_prompt, { signal, host }) => {
    host.onText("Half.");
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ stop: "cancelled" })));
  };

  test("a cancel of an external agent is waited for, and what it said stays", async () => {
    let stopped = 0;
    const { trial } = delegation(
      (_prompt, { signal, host }) => {
        host.onText("Half.");
        return new Promise((resolve) =>
          signal.addEventListener("abort", () =>
            setImmediate(() => {
              stopped += 1;
              resolve({ stop: "cancelled" });
            }),
          ),
        );
      },
      {},
      { during: ({ handle, at }) => at(1000, () => handle.cancel(CHILD)) },
    );
    const { stage } = await trial;
    const end = stage.eventsOf("run-end", CHILD)[0];
    assert.deepEqual([stopped, end?.status, end?.text], [1, "cancelled", "Half."]);
  });

  test("an external agent that is asked to wrap up stops with what it said, and is not prompted again", async () => {
    const { client, trial } = delegation(
      untilStopped,
      {},
      { during: ({ handle, at }) => at(1000, () => handle.cancel(CHILD, { mode: "wrap-up" })) },
    );
    const { stage } = await trial;
    const end = stage.eventsOf("run-end", CHILD)[0];
    assert.deepEqual([end?.status, end?.text, client.prompts.length], ["cancelled", "Half.", 1]);
  });

  test("the time limit of its server is the deadline of an external agent", async () => {
    const { trial } = delegation(untilStopped, { timeoutMs: 5000 });
    const { stage } = await trial;
    assert.deepEqual(
      stage.eventsOf("run-end", CHILD).map(({ status, durationMs }) => [status, durationMs]),
      [["timeout", 5000]],
    );
  });

  test("an answer without words, a refusal and a turn of its own accord cut short are not successes", async () => {
    for (const [answer, status] of [
      [{ text: "" }, "failed"],
      [{ text: "No.", stop: "refused" }, "refused"],
      [{ text: "Half.", stop: "cancelled" }, "failed"],
      [{ text: "Half.", stop: "length" }, "incomplete"],
    ] as const) {
      const { trial } = delegation(async () => answer);
      const { result } = await trial;
      assert.equal(statuses(result)[CHILD], status, JSON.stringify(answer));
    }
  });

  test("an external agent that ends its turn because something was not allowed is incomplete", async () => {
    const approve = ({ toolName }: { toolName: string }) => ({ allow: toolName !== "launch" });
    const { trial } = delegation(
      async (_prompt, { host }) => {
        await host.approve({ callId: "w", toolName: "launch", input: { path: 7 } });
        return { stop: "cancelled" };
      },
      {},
      { runtime: { approve } },
    );
    const { result } = await trial;
    assert.equal(statuses(result)[CHILD], "incomplete");
  });

  test("an answer of the wrong shape fails, and is not asked for again", async () => {
    const client = fakeClient(async () => "not json");
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent", { label: "x", task_prompt: "X.", agent: "helper" }), says("Seen.")] },
      lead: {
        subagents: [
          agent({
            name: "helper",
            model: externalModel(client.externalAgent()),
            outputSchema: { type: "object", properties: {}, required: [] } as never,
          }),
        ],
      },
      runtime: ALLOW,
    });
    assert.deepEqual([client.prompts.length, statuses(result)["lead/x"]], [1, "failed"]);
    assert.match(readBy(stage, "subagent")[0] ?? "", /does not match the output schema/);
  });

  test("a message that arrives meanwhile is the next prompt of the same session", async () => {
    const answers = ["First.", "Second."];
    const { client, trial } = delegation(
      async () => answers.shift() ?? assert.fail("asked too often"),
      {},
      {
        during: ({ handle, stage }) =>
          stage.when(
            ({ type, path }) => type === "turn-start" && path === CHILD,
            () => handle.steer(CHILD, "And b.ts?"),
          ),
      },
    );
    const { stage } = await trial;
    assert.deepEqual(
      client.prompts.map(({ task, sessionId }) => [task, sessionId]),
      [
        ["Fix it.", "s1"],
        ["And b.ts?", "s1"],
      ],
    );
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Second\./);
  });
});

// `npm run soak -- D5` plants a fault for it.
test("D5: the turn of an external agent and its session are stored before it is prompted", async () => {
  assert.deepEqual(await storedAtPrompt(createRuntime), ["run-start", "outside-session", "turn-start"]);
});
