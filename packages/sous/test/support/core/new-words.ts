/** Each kind of change that the architecture page counts, as all that it changes in the sources. */

import { EVENT_VERSION } from "../../../src/core/words/event-rows.ts";
import type { SourceChanges } from "../changed-sources.ts";

/** The version that a change of what is stored makes. */
export const NEXT_VERSION: number = EVENT_VERSION + 1;

/** A stored event: someone likes an answer. */
export const NEW_EVENT: SourceChanges = {
  "core/event.ts": [
    [
      "  /** A run is over: exactly one per run",
      '  /** Someone liked an answer. */\n  | { type: "applause"; turn: number; words: string; from?: string | undefined }\n$&',
    ],
  ],
  "core/words/events.ts": [
    [
      '  "run-end": {\n',
      `  applause: {
    since: ${NEXT_VERSION},
    fields: { turn: "count", words: "text", from: "id?" },
    noun: ({ turn }) => \`the applause for turn \${turn}\`,
    line: ({ words }, plain) => \`is applauded: \${plain(words, 20)}\`,
  },\n$&`,
    ],
  ],
  "runtime/loop/run-state.ts": [['      case "truncation":\n', '$&      case "applause":\n']],
  "testing/checker.ts": [['      case "truncation":\n', '$&      case "applause":\n']],
  "runtime/loop/run-turn.ts": [
    ["  recordActivity(message, run);\n", '$&  run.emit({ type: "applause", turn: run.turns, words: run.text });\n'],
  ],
};

/** A stop reason: a run gives up. */
export const NEW_STOP_REASON = {
  "core/outcome.ts": [['export type StopReason = "turns"', '$& | "patience"']],
  "core/words/outcomes.ts": [
    [
      "export const STOP_REASONS: Readonly<Record<StopReason, StopReasonRow>> = {\n",
      `$&  patience: {
    since: ${NEXT_VERSION},
    isOutOfTurns: false,
    lacksApproval: false,
    exit: "budget",
    words: "out of patience",
    warning: "nobody waited for the run",
    editor: "refusal",
    notice: (turns) => \`patience ran out in turn \${turns}\`,
    aside: "nobody waited",
    about: "patience of no one",
  },\n`,
    ],
  ],
  "runtime/loop/ending.ts": [
    [
      "  await summarize(run);\n  return {",
      '  if (run.text === "I give up.") return { status: "incomplete", stopReason: "patience" };\n$&',
    ],
  ],
} as const satisfies SourceChanges;

/** A limit: the children of one run. */
export const NEW_LIMIT: SourceChanges = {
  "core/words/limits.ts": [
    ["  maxConcurrent: number;\n", "$&  /** Children of one run. */\n  maxSiblings: number;\n"],
    [
      '  maxConcurrent: { default: 5, min: 1, narrows: "lower" },\n',
      `$&  maxSiblings: { since: ${NEXT_VERSION}, default: 8, min: 2, max: 90, narrows: "lower" },\n`,
    ],
  ],
  "app/config/limit-settings.ts": [
    [
      '  "limits.onFull": {\n',
      `  "limits.maxSiblings": {
    key: "agent.subagent.max_siblings",
    about: "How many children one run may have.",
    flag: { name: "max-siblings", value: "N", about: "children of one run (default 8)" },
  },
$&`,
    ],
  ],
  "runtime/tree/spawn.ts": [
    [
      "    const made = newChild(",
      // Behind the last await, so that calls of one turn are counted one after the other.
      `    if (tree.book.childrenOf(parent.who.agentId).length >= limits.maxSiblings)
      throw new Refused("quota", \`A run may have at most \${limits.maxSiblings} children\`);
$&`,
    ],
  ],
};

/** A column of a run: the type of the fault that ended it. */
export const NEW_COLUMN: SourceChanges = {
  "core/store.ts": [
    [
      "  cwd: string | undefined;\n  /** Only of the first run of a journal: why",
      "  faultType: string | undefined;\n$&",
    ],
    ["    cwd: start.cwd,\n", "$&    faultType: undefined,\n"],
    ["    endedAt: time,\n", "$&    faultType: end.fault?.type,\n"],
  ],
  "storage/store/run-columns.ts": [
    [
      "} as const satisfies {",
      '  faultType: { name: "fault_type", kind: "text?", from: "run-end", added: { sqlite: 8, postgres: 7 } },\n$&',
    ],
  ],
};

/** A built-in tool, which changes a file. */
export const NEW_TOOL = {
  "core/words/tools.ts": [
    ['  | "terminal"\n', '$&  | "patch_file"\n'],
    [
      "const TOOLS: Readonly<Record<BuiltInToolName, ToolRow>> = {\n",
      `$&  patch_file: {
    displayName: "Patch file",
    category: "edit",
    tier: "confirm",
    effect: "idempotent",
    action: "file",
    change: { new: "patch" },
    log: { about: ["path"], result: { words: "patched" }, alike: ["hunk"] },
    names: { claude: ["Patch"], gemini: ["patch"], opencode: ["hunk"] },
  },\n`,
    ],
  ],
  "app/tools/patch-file.ts": `import { z } from "zod";
import { type Tool, tool } from "../../core/tool.ts";
import { toolWords } from "../../core/words/tools.ts";

export function patchFileTool(): Tool {
  return tool({
    ...toolWords("patch_file"),
    description: "Changes a file by a patch.",
    inputSchema: z.strictObject({ path: z.string(), patch: z.string() }),
    execute: async ({ path }) => \`Patched \${path}\`,
  });
}
`,
  "app/tools/built-in.ts": [
    ['import { readingTools } from "./read-only.ts";\n', 'import { patchFileTool } from "./patch-file.ts";\n$&'],
    ["    ...readingTools(root, programs),\n", "    patchFileTool(),\n$&"],
  ],
} as const satisfies SourceChanges;

/** A key of agent files: `max_cost: 0.5` becomes the budget of the agent. */
export const NEW_AGENT_KEY: SourceChanges = {
  "app/config/agents/file.ts": [
    ["  readonly timeoutMs?: number;\n", "$&  readonly budget?: { readonly costUsd: number };\n"],
    ['  "timeoutMs",\n', '$&  "budget",\n'],
  ],
  "app/config/agents/fields.ts": [
    [
      "export const readDelegate: KeyReader",
      `export const readMaxCost: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value === "number" && value > 0) draft.set("budget", { costUsd: value }, [key], String(value));
  else draft.refuse("SOUS-A003", [key], \`\${key} must be greater than 0\`, \`write \\\`\${key}: 0.5\\\`\`);
};

$&`,
    ],
  ],
  "app/config/agents/dialects.ts": [
    ["  readMaxOutputTokens,\n", "  readMaxCost,\n$&"],
    ["  max_output_tokens: readMaxOutputTokens,\n", "$&  max_cost: readMaxCost,\n"],
  ],
  "app/cli/commands/agent-template.ts": [
    ["# How freely it answers", "# The most that one call may cost, in US dollars.\n# max_cost: 0.5\n$&"],
  ],
};
