/** Callbacks of a program that embeds subagents, for a tree that was cut anywhere and resumed in another process. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { EventListener, SousEvent, StoredEvent } from "../../../../../src/core/event.ts";
import type { ToolResult } from "../../../../../src/core/tool.ts";
import { trackSubagents } from "../../../../../src/runtime/subagents/callbacks.ts";
import type { NamedAgentResult } from "../../../../../src/runtime/subagents/named-agent.ts";
import { type SubagentProgress, trackProgress } from "../../../../../src/runtime/subagents/progress.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { simpleTool } from "../../../../support/requirements/support.ts";
import { goOn, live, resultsOf, type Scenario } from "../../../../support/runtime/tree/restore/crash-points.ts";

const counted = () => ({ success: true, output: "a\nb\n[only 2]", metadata: { lines: 2, truncated: true } });

/** A lead with one specialist that uses one tool; `onData` is given what the specialist's tool returns to code. */
function scenario(onData: (data: unknown) => void = () => {}): Scenario {
  const look = simpleTool("look", counted, { displayName: "Look around" });
  return {
    script: {
      lead: (request) =>
        resultsOf(request, "subagent_scout").length === 0 ? calls("subagent_scout", { task: "Look." }) : says("Seen."),
      "lead/scout": (request) => (resultsOf(request, "look").length === 0 ? calls("look") : says("Done.")),
    },
    agent: {
      delegate: false,
      subagents: [agent({ name: "scout", tools: [look] })],
      hooks: {
        afterToolCall(_call, { data }: ToolResult) {
          onData(data);
          return undefined;
        },
      },
    },
  };
}

/** Every journal that a crash could have left before the lead has heard of its specialist. */
async function cuts(): Promise<StoredEvent[][]> {
  const { events } = await live(scenario());
  const last = events.findIndex(({ type, path }) => type === "tool-call-end" && path === "lead");
  return Array.from({ length: last - 1 }, (_, index) => events.slice(0, index + 1));
}

suite("a tree that was cut and resumed", () => {
  test("C3: the tool logs of a resumed tree have the same names and counts, wherever it was cut", async () => {
    for (const kept of await cuts()) {
      const logs: unknown[] = [];
      await goOn(
        scenario((data) => logs.push(...(data as NamedAgentResult).toolLogs)),
        kept,
      );
      const where = `cut behind ${kept.length}: ${kept.at(-1)?.type} of ${kept.at(-1)?.path}`;
      const [log] = logs as NamedAgentResult["toolLogs"];
      assert.deepEqual([logs.length, log?.displayName, log?.result], [1, "Look around", "2+ lines"], where);
    }
  });

  test("D2, C7: a child that runs in this process starts and ends in it, and every tool that ends is reported", async () => {
    for (const kept of await cuts()) {
      const { events } = await goOn(scenario(), kept);
      const where = `cut behind ${kept.length}: ${kept.at(-1)?.type} of ${kept.at(-1)?.path}`;
      const isAlive = events.some(({ type, path }) => type === "run-end" && path === "lead/scout");
      const heard: string[] = [];
      replay(
        trackSubagents({
          onSubagentStart: ({ description, mode }) => void heard.push(`start ${mode} ${description}`),
          onSubagentComplete: (_id, { text }) => void heard.push(`complete ${text}`),
        }),
        events,
      );
      assert.deepEqual(heard, isAlive ? ["start spawn scout", "complete Done."] : [], where);
      const steps: SubagentProgress[] = [];
      replay(
        trackProgress((progress) => void steps.push(progress)),
        events,
      );
      const ends = events.filter(({ type, path }) => type === "tool-call-end" && path === "lead/scout").length;
      assert.equal(steps.filter(({ step }) => step === "tool-end").length, ends, where);
      assert.deepEqual(
        steps.filter(({ completed }) => completed).map(({ name, success }) => [name, success]),
        isAlive ? [["scout", true]] : [],
        where,
      );
    }
  });
});

function replay(listener: EventListener, events: readonly SousEvent[]): void {
  for (const event of events) listener(event);
}
