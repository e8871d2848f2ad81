/** External agents and later answers: what they ask cannot wait, and whether they get a task can. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { ApprovalRequest } from "../../../../../src/core/approval.ts";
import type { ExternalHost } from "../../../../../src/core/external-agent.ts";
import { type Tool, tool } from "../../../../../src/core/tool.ts";
import { rerun } from "../../../../../src/rerun.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { fakeClient } from "../../../../support/requirements/embedding.ts";
import { resultsIn } from "../../../../support/runtime/tree/restore/parking.ts";

/** The lead has an external helper and hands it one task; `how` is the call. */
function place(how: "subagent_helper" | "parallel_subagent", asks: (host: ExternalHost) => Promise<string>) {
  const store = openMemoryStore();
  const ran: string[] = [];
  const client = fakeClient(async ({ task }, { host }) => {
    ran.push(task);
    return asks(host);
  });
  const input =
    how === "subagent_helper"
      ? { task: "Fix a." }
      : {
          tasks: [
            { label: "one", task_prompt: "Fix a.", agent: "helper" },
            { label: "two", task_prompt: "Fix b.", agent: "helper" },
          ],
        };
  const model = scriptedModel({
    lead: (request) => {
      const [result] = resultsIn(request, how);
      return result === undefined ? calls(how, input, "c1") : says(result);
    },
  });
  const bash = tool({
    name: "bash",
    description: "Runs.",
    tier: "confirm",
    inputSchema: { type: "object", properties: {} },
    execute: () => "ran",
  }) as Tool;
  const helper = agent({ name: "helper", description: "Helps.", model: "external/local", tools: [bash] });
  const lead = agent({ name: "lead", model, delegate: true, tools: [bash], subagents: [helper] });
  const process = (approve: (request: ApprovalRequest) => "later" | { allow: true } = () => "later") => {
    const rules = {
      decide: ({ toolName }: ApprovalRequest) =>
        toolName === "subagent_delegate" || toolName === "bash" ? undefined : ({ effect: "allow" } as const),
      ask: approve,
    };
    return createRuntime({ store, approve: rules, models: { external: client } });
  };
  return { store, ran, lead, process };
}

suite("G7: external agents", () => {
  for (const how of ["subagent_helper", "parallel_subagent"] as const) {
    test(`a question whether an external agent gets a task by ${how} can be answered later, and it gets the task once`, async () => {
      const { store, ran, lead, process } = place(how, async () => "Fixed.");
      const handle = process().run(lead, "Go.");
      const { status, questions } = await handle.result;
      const wanted = how === "subagent_helper" ? 1 : 2;
      assert.deepEqual(
        [status, questions.map(({ toolName }) => toolName)],
        ["incomplete", Array.from({ length: wanted }, () => "subagent_delegate")],
      );
      assert.deepEqual(ran, []);
      const [first, second] = questions;
      const one = { [first?.id ?? ""]: { allow: true } } as const;
      const next = await process().resume(handle.id, { agent: lead, answers: one }).result;
      assert.deepEqual(ran, ["Fix a."]);
      if (second !== undefined) {
        assert.deepEqual(
          next.questions.map(({ id }) => id),
          [second.id],
        );
        const last = await process().resume(handle.id, { agent: lead, answers: { [second.id]: { allow: false } } })
          .result;
        assert.match(last.text, /Fixed\..*The user did not allow subagent_delegate/s);
      } else assert.match(next.text, /^Fixed\./);
      assert.deepEqual(ran, ["Fix a."]);
      assert.deepEqual(checkHistory(await store.read(handle.id)), []);
      assert.deepEqual((await rerun(handle.id, { store })).firstDifference, undefined);
    });
  }

  test("a question of an external agent cannot wait: it is refused, and the run continues", async () => {
    const answers: boolean[] = [];
    const asks = async (host: ExternalHost) => {
      answers.push(
        await host.approve({
          callId: "1",
          toolName: "bash",
          name: "Bash",
          kind: "execute",
          title: "ls",
          input: {},
        } as never),
      );
      return "Done without.";
    };
    const { store, lead, process } = place("subagent_helper", asks);
    const approve = ({ toolName }: ApprovalRequest) =>
      toolName === "subagent_delegate" ? ({ allow: true } as const) : ("later" as const);
    const handle = process(approve).run(lead, "Go.");
    const { status, questions, text } = await handle.result;
    const events = await store.read(handle.id);
    const ends = events.flatMap((event) => (event.type === "approval-end" ? [[event.path, event.reason]] : []));
    assert.deepEqual([status, answers, questions], ["incomplete", [false], []]);
    assert.match(text, /Done without\./);
    assert.deepEqual(ends.at(-1), [
      "lead/helper",
      "the question failed: the answer comes later, and lead/helper is an external agent, which cannot wait that long",
    ]);
    assert.deepEqual(checkHistory(events), []);
  });
});
