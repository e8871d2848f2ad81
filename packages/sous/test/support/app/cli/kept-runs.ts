/** Runs as a database holds them, with times and ids that are always the same: what the tests of `sous replay` look at. */

import type { StoredBody } from "../../../../src/core/event.ts";
import { NO_OWNER, type Store } from "../../../../src/core/store.ts";
import { noUsage, type Usage } from "../../../../src/core/usage.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";

export const IDS = {
  lead: "01K2F8Q6ZV0000000000000001",
  scout: "01K2F8Q6ZW0000000000000002",
  reader: "01K2F8Q6ZW0000000000000003",
  hostile: "01K2F9AAAA0000000000000004",
  broken: "01K2G0BBBB0000000000000005",
} as const;

const NOON = Date.UTC(2026, 10, 15, 12);

/** Terminal codes, line breaks, text that runs the other way, and a very long word. */
export const HOSTILE_LABEL = "evil\u001b[2J\u001b]0;owned\u0007\r\nname\u202egnp.exe";

/** A finished tree of three, a run with hostile words, and one whose process died. Newest last. */
export async function keepSampleRuns(store: Store): Promise<void> {
  for (const tree of [finishedTree(), hostileRun(), brokenRun()])
    await store.append(tree.rootId, tree.events, NO_OWNER);
}

/** The same task a day later: one finds more, another is not asked, and a third is. */
export async function keepSecondTry(store: Store): Promise<string> {
  const [rootId, scout, third] = [
    "01K2J0CCCC0000000000000008",
    "01K2J0CCCC0000000000000009",
    "01K2J0CCCC000000000000000A",
  ];
  const tree = sampleTree(rootId, NOON + 2 * 86_400_000);
  tree.start(rootId, {
    label: "lead",
    details: { task: task("Where do we check permissions?"), model: "scripted/demo" },
  });
  answer(tree, rootId, 1, "I ask two.", [
    ["call_lead_1", "parallel_subagent", { tasks: [{ label: "scout" }, { label: "third" }] }],
  ]);
  tree.add(rootId, start("call_lead_1", "parallel_subagent", {}));
  tree.start(scout, { parent: rootId, label: "scout", details: { task: task("Find the checks.\nAll of them.") } });
  tree.start(third, { parent: rootId, label: "third", details: { task: task("Look elsewhere.") } });
  answer(tree, scout, 1, "", [["call_scout_1", "grep", { pattern: "mayUse", glob: "*.ts" }]]);
  tree.add(scout, start("call_scout_1", "grep", { pattern: "mayUse", glob: "*.ts" }));
  tree.add(
    scout,
    end("call_scout_1", "grep", "src/rights.ts:1: if (!mayUse(rights, name)) throw\nsrc/tools.ts:7: mayUse"),
  );
  answer(tree, scout, 2, "src/rights.ts:1 and src/tools.ts:7", []);
  ends(tree, scout, { turns: 2, toolCount: 1, text: "src/rights.ts:1 and src/tools.ts:7" });
  answer(tree, third, 1, `Nothing.${HOSTILE_LABEL}`, []);
  ends(tree, third, { text: `Nothing.${HOSTILE_LABEL}` });
  tree.add(
    rootId,
    end("call_lead_1", "parallel_subagent", '{"results":[{"label":"scout","success":true},{"label":"third"}]}'),
  );
  answer(tree, rootId, 2, "In two files.", []);
  ends(tree, rootId, { turns: 2, toolCount: 1, text: "In two files." });
  await store.append(rootId, tree.events, NO_OWNER);
  return rootId;
}

function finishedTree(): SampleTree {
  const tree = sampleTree(IDS.lead, NOON);
  const use = ["read_file", "grep"];
  tree.start(IDS.lead, {
    label: "lead",
    details: {
      instructions: "You lead.\nBe brief.",
      task: { role: "user", content: [{ type: "text", text: "Where do we check permissions?" }] },
      rights: { use, delegate: use, deny: [], spawn: true },
      model: "scripted/demo",
      budget: { tokens: 50_000 },
    },
  });
  answer(tree, IDS.lead, 1, "I ask two.", [
    ["call_lead_1", "parallel_subagent", { tasks: [{ label: "scout" }, { label: "reader" }] }],
  ]);
  tree.add(IDS.lead, start("call_lead_1", "parallel_subagent", {}));
  tree.start(IDS.scout, {
    parent: IDS.lead,
    label: "scout",
    details: { task: task("Find the checks.\nAll of them.") },
  });
  tree.start(IDS.reader, {
    parent: IDS.lead,
    label: "reader",
    details: { task: task("Read src/rights.ts."), maxTurns: 1 },
  });
  answer(tree, IDS.scout, 1, "", [["call_scout_1", "grep", { pattern: "mayUse", glob: "*.ts" }]]);
  tree.add(IDS.scout, start("call_scout_1", "grep", { pattern: "mayUse", glob: "*.ts" }));
  const matches = Array.from(
    { length: 40 },
    (_, line) => `src/rights.ts:${line + 1}: if (!mayUse(rights, name)) throw`,
  );
  tree.add(IDS.scout, end("call_scout_1", "grep", matches.join("\n")));
  tree.add(IDS.scout, { type: "steer", text: "Only under src/." });
  answer(tree, IDS.scout, 2, "src/rights.ts:12", []);
  ends(tree, IDS.scout, { turns: 2, toolCount: 1, text: "src/rights.ts:12", usage: usage(900, 60) });
  answer(tree, IDS.reader, 1, "So far nothing.", [["call_reader_1", "read_file", { path: "src/rights.ts" }]]);
  tree.add(IDS.reader, start("call_reader_1", "read_file", { path: "src/rights.ts" }));
  tree.add(IDS.reader, end("call_reader_1", "read_file", "No file at src/rights.ts. Use glob to find its name.", true));
  ends(tree, IDS.reader, {
    status: "incomplete",
    stopReason: "turns",
    turns: 1,
    toolCount: 1,
    text: "So far nothing.",
  });
  tree.add(IDS.lead, {
    type: "spawn-refused",
    label: "deeper",
    errorType: "depth_limit",
    message: "Maximum subagent recursion depth (1) exceeded. Current depth: 1",
  });
  tree.add(IDS.lead, end("call_lead_1", "parallel_subagent", '{"results":[{"label":"scout","success":true}]}'));
  answer(tree, IDS.lead, 2, "In src/rights.ts, line 12.", []);
  ends(tree, IDS.lead, {
    turns: 2,
    toolCount: 1,
    text: "In src/rights.ts, line 12.",
    usage: usage(2400, 120, 1000),
    costUsd: 0.0912,
  });
  return tree;
}

function hostileRun(): SampleTree {
  const tree = sampleTree(IDS.hostile, NOON + 3_600_000);
  tree.start(IDS.hostile, {
    label: HOSTILE_LABEL,
    details: { task: task("漢字 ".repeat(60) + HOSTILE_LABEL), model: HOSTILE_LABEL },
  });
  answer(tree, IDS.hostile, 1, `Look:\u001b[31m red\u202e and ${"x".repeat(2000)}`, []);
  const fault = { type: "crash", message: `boom\u001b[2J${HOSTILE_LABEL}` } as const;
  ends(tree, IDS.hostile, { status: "failed", fault, text: "" });
  return tree;
}

/** It has no end, and nobody works on it. */
function brokenRun(): SampleTree {
  const tree = sampleTree(IDS.broken, NOON + 86_400_000);
  tree.start(IDS.broken, { label: "lead", details: { task: task("Go on and on.") } });
  answer(tree, IDS.broken, 1, "I go on.", [["call_lead_1", "grep", { pattern: "x" }]]);
  tree.add(IDS.broken, start("call_lead_1", "grep", { pattern: "x" }));
  return tree;
}

function task(text: string): { role: "user"; content: { type: "text"; text: string }[] } {
  return { role: "user", content: [{ type: "text", text }] };
}

function answer(
  tree: SampleTree,
  runId: string,
  turn: number,
  text: string,
  calls: [callId: string, toolName: string, input: unknown][],
): void {
  tree.add(runId, { type: "turn-start", turn, promptTokens: 300, reserved: 0 });
  const parts = calls.map(([callId, toolName, input]) => ({ type: "tool-call", callId, toolName, input }) as const);
  tree.add(runId, {
    type: "message-end",
    turn,
    message: { role: "assistant", content: [...(text === "" ? [] : [{ type: "text", text } as const]), ...parts] },
    finish: calls.length > 0 ? "tool-calls" : "stop",
    usage: usage(300 * turn, 20),
    costUsd: 0,
  });
}

function start(callId: string, toolName: string, input: unknown): StoredBody {
  return { type: "tool-call-start", callId, toolName, input };
}

function end(callId: string, toolName: string, output: string, isError = false): StoredBody {
  return { type: "tool-call-end", callId, toolName, output, isError, durationMs: 4 };
}

function ends(tree: SampleTree, runId: string, outcome: Parameters<SampleTree["end"]>[1]): void {
  tree.end(runId, { usage: usage(300, 20), costUsd: 0, ...outcome });
}

function usage(input: number, output: number, cached = 0): Usage {
  return {
    ...noUsage(),
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    totalTokens: input + output,
  };
}
