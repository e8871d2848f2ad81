/** D1, D2: external agents behind a port are children like any other. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { calls, says, uses } from "../../../src/testing/steps.ts";
import { ALLOW, fakeClient, recorder, registryWith } from "../../support/requirements/embedding.ts";
import { readBy, runTree, statuses } from "../../support/requirements/run-tree.ts";

suite("D1, D2: subagent_delegate", () => {
  const task = { task: "Fix it.", description: "a fix" };

  test("D1: subagent_delegate hands the task to the external agent and gives back its answer, in the same tree and events", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(
      async (_prompt, { host }) => {
        host.onText("Fix");
        host.onText("ed.");
        return {};
      },
      { usage: { inputTokens: 700, outputTokens: 30 } },
    );
    const registry = registryWith({ client, callbacks, serverName: "local", agentId: "codex" });
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("subagent_delegate", task),
          calls("subagent_delegate", { ...task, agentId: "goose" }),
          says("Seen."),
        ],
      },
      lead: { delegate: false, tools: [...registry] },
      runtime: ALLOW,
    });
    assert.deepEqual(
      client.prompts.map(({ task, serverName, agentId }) => [task, serverName, agentId]),
      [
        ["Fix it.", "local", "codex"],
        ["Fix it.", "local", "goose"],
      ],
    );
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Fixed\./);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a fix": "completed", "lead/a fix#2": "completed" });
    assert.equal(result.agents[1]?.usage.totalTokens, 730);
    assert.deepEqual(said.slice(0, 4), [
      "start delegate a fix",
      "delta delegate a fix: Fix",
      "delta delegate a fix: ed.",
      "complete delegate a fix: Fixed., 1 turns, true",
    ]);
  });

  test("D1: subagent_delegate needs approval", async () => {
    const client = fakeClient(async () => "Fixed.");
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
    });
    assert.deepEqual([client.prompts.length, result.status, result.stopReason], [0, "incomplete", "consent"]);
  });

  test("D1: subagent_spawn with only a client is an external run too, and asks like one", async () => {
    const client = fakeClient(async () => "Done.");
    const asked: string[] = [];
    const { stage } = await runTree({
      script: { lead: [calls("subagent_spawn", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, agentId: "codex" })] },
      runtime: {
        approve: ({ toolName, input }) => {
          asked.push(`${toolName} ${JSON.stringify(input)}`);
          return { allow: true };
        },
      },
    });
    assert.equal(stage.eventsOf("run-start", "lead/a fix")[0]?.model, "external/local");
    assert.deepEqual(asked, ['subagent_delegate {"serverName":"local","description":"a fix","task":"Fix it."}']);
    assert.equal(client.prompts.length, 1);
  });

  test("D2: a failure of the client is a failure of the child", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(() => Promise.reject(new Error("server gone")));
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, callbacks })] },
      runtime: ALLOW,
    });
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Subagent failed: external\/local failed: server gone/);
    assert.deepEqual([result.status, statuses(result)["lead/a fix"]], ["completed", "failed"]);
    assert.deepEqual(said, ["start delegate a fix", "error delegate a fix: external/local failed: server gone; "]);
  });

  test("D1: an external run is told its instructions too", async () => {
    const client = fakeClient(async () => "Yes.");
    await runTree({
      script: {
        lead: [
          calls("subagent_spawn", { ...task, systemPrompt: "Answer yes or no." }),
          calls("subagent_spawn", task),
          says("Seen."),
        ],
      },
      lead: { delegate: false, tools: [...registryWith({ client, systemPrompt: "Be brief." })] },
      runtime: ALLOW,
    });
    assert.deepEqual(
      client.prompts.map((prompt) => prompt.task),
      ["Answer yes or no.\n\nFix it.", "Be brief.\n\nFix it."],
    );
  });

  test("D1: an empty name of a server or an agent is refused and does not hide the default", async () => {
    const client = fakeClient(async () => "Fixed.");
    const { stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent_delegate", { ...task, serverName: "" }),
            calls("subagent_delegate", { ...task, agentId: " " }),
          ],
          says("Oh."),
        ],
      },
      lead: { delegate: false, tools: [...registryWith({ client, serverName: "local", agentId: "codex" })] },
      runtime: ALLOW,
    });
    assert.deepEqual(readBy(stage, "subagent_delegate"), ["serverName cannot be empty", "agentId cannot be empty"]);
    assert.deepEqual(client.prompts, []);
  });

  test("D2: an agent that cannot be started, or throws no error, fails its child as well", async () => {
    for (const [open, message] of [
      [
        () => {
          throw new Error("not connected");
        },
        "external/local could not be started: not connected",
      ],
      [
        () => Promise.reject({ code: -32000, message: "server error" }),
        "external/local could not be started: server error",
      ],
      [() => Promise.reject(undefined), "external/local could not be started: undefined"],
    ] as const) {
      const { said, callbacks } = recorder();
      const agents = fakeClient(async () => "Fixed.");
      const client = { ...agents, externalAgent: () => ({ ...agents.externalAgent(), open }) };
      const { result } = await runTree({
        script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
        lead: { delegate: false, tools: [...registryWith({ client, callbacks })] },
        runtime: ALLOW,
      });
      assert.equal(result.status, "completed");
      assert.equal(said.at(-1), `error delegate a fix: ${message}; `);
    }
  });

  test("D2: a text that comes after the answer is not heard", async () => {
    const { said, callbacks } = recorder();
    let late: ((text: string) => void) | undefined;
    const client = fakeClient(async (_prompt, { host }) => {
      late = (text) => host.onText(text);
      return "Fixed.";
    });
    const { stage } = await runTree({
      script: {
        lead: [
          calls("subagent_delegate", task),
          () => {
            late?.(" And more.");
            return says("Seen.");
          },
        ],
      },
      lead: { delegate: false, tools: [...registryWith({ client, callbacks })] },
      runtime: ALLOW,
    });
    assert.deepEqual(
      stage.eventsOf("text-delta").map(({ path, text }) => [path, text]),
      [
        ["lead/a fix", "Fixed."],
        ["lead", "Seen."],
      ],
    );
    assert.equal(said.at(-1), "complete delegate a fix: Fixed., 1 turns, true");
  });

  test("D1: a further message goes to the same session, alone", async () => {
    const answers = ["Fixed.", "The second too."];
    const client = fakeClient(async () => answers.shift() ?? assert.fail("asked too often"));
    const { stage } = await runTree({
      script: {
        lead: [
          calls("subagent_delegate", task),
          ({ messages }) => {
            const [, id = ""] = JSON.stringify(messages).match(/subagent_id: (\w+)/) ?? [];
            return calls("subagent_send", { subagent_id: id, message: "And the second file?" });
          },
          says("Seen."),
        ],
      },
      lead: { tools: [...registryWith({ client })] },
      runtime: ALLOW,
    });
    assert.deepEqual(
      client.prompts.map(({ task, sessionId, isContinued }) => [task, sessionId, isContinued]),
      [
        ["Fix it.", "s1", false],
        ["And the second file?", "s1", true],
      ],
    );
    assert.match(readBy(stage, "subagent_send")[0] ?? "", /^The second too\./);
    assert.deepEqual(client.open, new Set());
  });

  test("D2: cancel reaches the external agent, and one that does not listen is waited for only so long", async () => {
    let wasStopped = false;
    const client = fakeClient((_prompt, { signal }) => {
      signal.addEventListener("abort", () => {
        wasStopped = true;
      });
      return new Promise(() => {});
    });
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
      runtime: ALLOW,
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/a fix")),
    });
    assert.deepEqual([wasStopped, statuses(result)["lead/a fix"], result.durationMs], [true, "cancelled", 16_000]);
  });

  test("D1: the use of an external agent counts against the budget, or its estimate does", async () => {
    for (const usage of [{ inputTokens: 50_000, outputTokens: 900 }, undefined]) {
      const client = fakeClient(async () => "x".repeat(30_000), { usage });
      const { stage, result } = await runTree({
        script: {
          lead: [
            calls("subagent_delegate", task),
            [calls("subagent_delegate", task), uses({ input: 1, output: 1 })],
            says("Seen."),
          ],
        },
        lead: { delegate: false, tools: [...registryWith({ client })] },
        runtime: { ...ALLOW, limits: { children: { tokens: 6000 } } },
      });
      assert.equal(client.prompts.length, 1);
      assert.match(readBy(stage, "subagent_delegate")[1] ?? "", /^Token limit exceeded: \d+\/6000/);
      assert.equal(result.usage.estimated, usage === undefined);
    }
  });
});
