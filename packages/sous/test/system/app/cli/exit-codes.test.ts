/** Every ending of `sous run` in every format, and what ends a process as one: exit code, status, answer and last line agree. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { endingSentence, exitCodeOfRun } from "../../../../src/app/cli/run/ending.ts";
import { failureBefore, runOutput } from "../../../../src/app/cli/run/output.ts";
import { MissingKey, StoreError, UserError } from "../../../../src/core/errors.ts";
import type { RunStatus } from "../../../../src/core/outcome.ts";
import { type RunResult, withoutRun } from "../../../../src/core/runtime.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { type Act, runProcess, type ScriptFolder, scriptFolder } from "../../../support/app/cli/run-process.ts";
import type { ProcessOptions } from "../../../support/app/cli/sous-process.ts";

type Format = "text" | "json" | "stream-json";

/** The child is there, and nothing more will come of it. */
const CHILD_WAITS = /sous\/slow/;
const FIRST_WORDS = "Part one\u001b[31m of \u2028it\u0007";
const READABLE = "Part one of it";
const asChild = (label: string) => [{ tool: "subagent", input: { label, task_prompt: "Look." } }];
const SLEEPS = { tool: "terminal", input: { command: "sleep 300" } };
const begins = { text: FIRST_WORDS, calls: [{ tool: "list_files", input: {} }] };

const SCRIPTS = {
  answers: {
    sous: [{ text: "I ask.", calls: asChild("scout") }, { text: FIRST_WORDS }],
    "sous/*": [{ text: "Found." }],
  },
  fails: { sous: [begins, { error: { kind: "invalid_request", message: "No \u001b[2Jsuch model" } }] },
  refuses: { sous: [{ ending: "refuses" }] },
  keyless: { sous: [{ error: { kind: "auth", message: "The key was refused: check SOME_KEY" } }] },
  spends: { sous: [{ ...begins, usage: { input: 40_000, output: 10_000 } }, { text: "never" }] },
  begins: { sous: [begins, { text: "never" }] },
  asks: { sous: [{ calls: [{ tool: "write_file", input: { path: "x.txt", content: "x" } }] }, { text: FIRST_WORDS }] },
  /** Its last words never come. */
  deaf: {
    sous: [{ text: FIRST_WORDS, calls: asChild("slow") }, { ending: "hangs" }],
    "sous/*": [{ text: "I begin.", ending: "hangs" }],
  },
  /** A command, a child and a child's command are at work when the interrupt comes. */
  works: {
    sous: [{ calls: [SLEEPS, ...asChild("slow"), ...asChild("busy")] }, { text: FIRST_WORDS }],
    "sous/busy": [{ calls: [SLEEPS] }, { text: "Last words of a child." }],
    "sous/slow": [{ text: "I begin.", ending: "hangs" }],
  },
  hangs: { sous: [{ text: FIRST_WORDS, calls: asChild("slow") }], "sous/*": [{ text: "I begin.", ending: "hangs" }] },
  /** Its first turn ends after the interrupt, and what it says then is kept. */
  waits: {
    sous: [{ wait_ms: 1500, text: "Too early", calls: [{ tool: "list_files", input: {} }] }, { text: FIRST_WORDS }],
  },
};

type Row = {
  name: string;
  script?: keyof typeof SCRIPTS;
  parameters?: string[];
  acts?: Act[];
  /** The same for other formats, whose progress is on stderr. */
  signalAt?: ProcessOptions["signalAt"];
  code: number;
  status: string;
  stopReason?: string;
  /** Stdout as text. */
  text?: string;
  /** The last line of stderr. */
  says: RegExp;
  /** Formats besides `stream-json`, when not all: they say the same whatever the ending is. */
  also?: Format[];
  /** Its stream is that of a process; so is that of all that a signal ends. */
  isProcess?: boolean;
  /** Nothing was started, so there need not be an `init`. */
  isBefore?: boolean;
};

const ROWS: Row[] = [
  {
    isProcess: true,
    name: "completed",
    script: "answers",
    code: 0,
    status: "completed",
    text: READABLE,
    says: /^sous {2}✓ completed/,
  },
  {
    name: "failed",
    also: [],
    script: "fails",
    code: 1,
    status: "failed",
    text: READABLE,
    says: /^error: No such model$/,
  },
  {
    name: "refused",
    also: [],
    script: "refuses",
    code: 1,
    status: "refused",
    text: "",
    says: /^error: The model refused the task$/,
  },
  {
    name: "usage",
    isProcess: true,
    parameters: ["--max-turns", "zero"],
    code: 2,
    status: "failed",
    isBefore: true,
    says: /^error: --max-turns must be a whole number of at least 1; found "zero"$/,
  },
  {
    name: "configuration",
    also: ["json"],
    script: "answers",
    parameters: ["--config", "broken.yaml"],
    code: 3,
    status: "failed",
    isBefore: true,
    says: /^ *fix +did you mean agent\.subagent\.max_depth\?$/,
  },
  {
    name: "key missing",
    also: ["json"],
    parameters: ["--model", "anthropic/claude-sonnet-4-5"],
    code: 4,
    status: "failed",
    isBefore: true,
    says: /^error: .*ANTHROPIC_API_KEY/,
  },
  {
    name: "key refused",
    also: [],
    script: "keyless",
    code: 4,
    status: "failed",
    says: /^error: The key was refused: check SOME_KEY$/,
  },
  {
    name: "budget",
    also: ["text"],
    script: "spends",
    parameters: ["--max-tokens-total", "50000"],
    code: 5,
    status: "budget_exceeded",
    text: READABLE,
    says: /^error: Token limit exceeded: \d+\/50000/,
  },
  {
    name: "out of turns",
    also: ["json"],
    script: "begins",
    parameters: ["--max-turns", "1"],
    code: 6,
    status: "incomplete",
    stopReason: "turns",
    text: READABLE,
    says: /^warning: the run is out of turns, .*--max-turns/,
  },
  {
    name: "timeout",
    isProcess: true,
    also: [],
    script: "hangs",
    parameters: ["--timeout", "4s"],
    code: 6,
    status: "timeout",
    text: READABLE,
    says: /^error: Time limit exceeded: \d+s\/4s/,
  },
  {
    name: "consent",
    isProcess: true,
    also: ["text"],
    script: "asks",
    code: 7,
    status: "incomplete",
    stopReason: "consent",
    text: READABLE,
    says: /^error: 1 action needed consent and no one could be asked: write_file x\.txt \(sous\)\. --allow/,
  },
  {
    name: "INT once",
    script: "waits",
    acts: [{ at: /"turn-start"/, act: "SIGINT" }],
    signalAt: { text: "sous  starts", signal: "SIGINT" },
    code: 130,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGINT: The run was cancelled after wrapping up\. Continue it: sous resume \w{26} --db-path 'INT once .*\.db'$/,
  },
  {
    name: "INT once while tools and children work",
    also: [],
    script: "works",
    parameters: ["--yes"],
    acts: [{ at: /"path":"sous\/busy".*"tool-call-start"/, act: "SIGINT" }],
    code: 130,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGINT: The run was cancelled after wrapping up\. Continue it: sous resume \w{26} --db-path 'INT once .*\.db'$/,
  },
  {
    name: "INT once when no last words come",
    also: [],
    script: "deaf",
    acts: [{ at: CHILD_WAITS, act: "SIGINT" }],
    code: 130,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGINT: The run was cancelled\./,
  },
  {
    name: "INT twice",
    also: [],
    script: "deaf",
    acts: [
      { at: CHILD_WAITS, act: "SIGINT" },
      { at: /wrapping up/, act: "SIGINT" },
    ],
    code: 130,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGINT: The run was cancelled\./,
  },
  {
    name: "TERM",
    also: [],
    script: "hangs",
    acts: [{ at: CHILD_WAITS, act: "SIGTERM" }],
    code: 143,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGTERM: /,
  },
  {
    name: "HUP",
    also: [],
    script: "hangs",
    acts: [{ at: CHILD_WAITS, act: "SIGHUP" }],
    code: 129,
    status: "cancelled",
    text: READABLE,
    says: /^stopped by SIGHUP: /,
  },
];

/** Which exit codes a status may have; before a run there is also usage and configuration. */
const CODES: Record<string, number[]> = {
  completed: [0],
  failed: [1, 2, 3, 4],
  refused: [1],
  budget_exceeded: [5],
  incomplete: [6, 7],
  timeout: [6],
  cancelled: [129, 130, 141, 143],
};

const RESULT_KEYS =
  "schema status result output stop_reason run_id turns usage cost_usd duration_ms agents denied questions error lost".split(
    " ",
  );
const HEAD_KEYS = "n ts run_id agent_id parent_id path depth type".split(" ");

let folder: ScriptFolder;

before(async () => {
  folder = await scriptFolder(SCRIPTS);
  writeFileSync(join(folder.path, "broken.yaml"), "agent:\n  subagent: { max_depht: 3 }\n");
});
after(() => folder[Symbol.asyncDispose]());

/** What a row printed, when it has ended as it should. */
async function endOf(row: Row, format: Format): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { name, script, parameters = [], acts = [] } = row;
  const model = script === undefined ? [] : ["--model", `script/${script}.json`];
  const file = `${name} ${format}.db`;
  const kept = acts.length === 0 ? ["--ephemeral"] : ["--db-path", file];
  const flags = ["--output-format", format, ...model, ...kept, ...parameters];
  const run = { cwd: folder.path, parameters: ["run", "Go.", ...flags] };
  const isProcess = format === "stream-json" && (row.isProcess === true || acts.length > 0);
  const ended = await (isProcess ? runProcess({ ...run, acts }) : runInProcess({ ...run, signalAt: row.signalAt }));
  assert.equal(ended.code, row.code, ended.stderr);
  assert.doesNotMatch(ended.stdout + ended.stderr, FORBIDDEN);
  assert.doesNotMatch(ended.stderr, /\n {4}at /, "a person reads no stack");
  // There is no progress beside a stream, and so no last line of it.
  if (row.code !== 0 || format !== "stream-json") {
    assert.match(ended.stderr.trimEnd().split("\n").at(-1) ?? "", row.says);
  }
  if (acts.length > 0) assert.equal(await keptStatus(join(folder.path, file)), row.status);
  return ended;
}

async function keptStatus(file: string): Promise<string | undefined> {
  await using store = await openSqliteStore(file, { readOnly: true });
  const [record] = await store.list({ rootsOnly: true, limit: 1 });
  return record?.status;
}

/** Nothing that acts on a terminal, and no line break that is not one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there.
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

function checkResult(result: Record<string, unknown>, row: Row, code: number | null): void {
  assert.deepEqual([result.status, result.stop_reason], [row.status, row.stopReason ?? null]);
  assert.ok(CODES[String(result.status)]?.includes(Number(code)));
  assert.equal(result.result, row.text === READABLE ? FIRST_WORDS : "");
  assert.equal(result.error === null, row.status === "completed" || row.status === "incomplete");
  const { agents, usage } = result as { agents: { usage: Record<string, number> }[]; usage: Record<string, number> };
  const total = agents.reduce((sum, each) => sum + (each.usage.total_tokens ?? 0), 0);
  assert.equal(usage.total_tokens, total);
  const denied = row.stopReason === "consent" ? ["write_file"] : [];
  assert.deepEqual(
    (result.denied as { tool_name: string }[]).map(({ tool_name }) => tool_name),
    denied,
  );
}

test("J1: every ending has one exit code and the same words, whatever the format", async () => {
  const endings: [status: RunStatus, code: number, more?: Partial<RunResult>][] = [
    ["completed", 0],
    ["failed", 1, { error: { type: "crash", message: "It broke" } }],
    ["failed", 1, { error: { type: "model", message: "Too busy", kind: "overloaded" } }],
    ["failed", 4, { error: { type: "model", message: "The key was refused", kind: "auth" } }],
    ["refused", 1, { error: { type: "refused", message: "No" } }],
    ["budget_exceeded", 5, { error: { type: "quota", message: "Token limit exceeded: 11/10" } }],
    ["incomplete", 6, { stopReason: "turns" }],
    ["incomplete", 7, { stopReason: "consent", denied: [{ path: "sous", toolName: "terminal", input: {} }] }],
    ["timeout", 6, { error: { type: "timeout", message: "Time limit exceeded: 2s/1s" } }],
    ["cancelled", 143, { error: { type: "cancelled", message: "The run was cancelled" } }],
  ];
  for (const [status, code, more = {}] of endings) {
    const result = {
      ...withoutRun("failed", { type: "crash", message: "" }),
      error: undefined,
      text: FIRST_WORDS,
      ...more,
      status,
    };
    assert.equal(exitCodeOfRun(result, 143), code);
    const sentence = endingSentence(result, {
      stoppedBy: "SIGTERM",
      isStored: false,
      flags: { dbPath: undefined, configFile: undefined },
    });
    assert.equal(sentence === undefined, status === "completed");
    assert.ok(sentence === undefined || sentence.includes(result.error?.message ?? ""));
    const [text = "", json = "", stream = ""] = await Promise.all(
      (["text", "json", "stream-json"] as const).map((format) => written(format, result)),
    );
    assert.equal(text, `${READABLE}\n`);
    for (const object of [json, stream]) {
      const { status: said, result: answer } = JSON.parse(object);
      assert.deepEqual([said, answer], [status, FIRST_WORDS]);
    }
    assert.doesNotMatch(text + json + stream, FORBIDDEN);
  }
});

test("J1: before a run, a mistake of the person is invalid_input, and only a fault of sous is a crash", () => {
  const faults: [type: string, error: Error][] = [
    ["invalid_input", new UserError('No model provider is called "foo"')],
    ["invalid_input", new CommandError("HOME is not set")],
    ["model", new MissingKey("No key")],
    ["store", new StoreError("The disk is full")],
    ["crash", new TypeError("undefined is not a function")],
  ];
  assert.deepEqual(
    faults.map(([, error]) => failureBefore(error).error),
    faults.map(([type, { message }]) => ({ type, message })),
  );
});

/** Stdout of a run that ends so. */
async function written(format: Format, result: RunResult): Promise<string> {
  let text = "";
  const write = async (piece: string) => {
    text += piece;
  };
  const outlet = { write, isClosed: false, failure: undefined };
  await runOutput(format, outlet, { color: "never", ascii: false }).end(result);
  return text;
}

suite("J1: every ending of sous run", { concurrency: 4 }, () => {
  for (const row of ROWS) {
    const { also = ["text", "json"] } = row;
    if (also.includes("text"))
      test(`J1: ${row.name}: exit code ${row.code}, as text`, async () => {
        const { stdout } = await endOf(row, "text");
        assert.equal(stdout, (row.text ?? "") === "" ? "" : `${row.text}\n`);
      });

    if (also.includes("json"))
      test(`J1: ${row.name}: exit code ${row.code}, as one JSON object`, async () => {
        const { stdout, code } = await endOf(row, "json");
        const result = JSON.parse(stdout);
        assert.deepEqual(Object.keys(result), RESULT_KEYS);
        checkResult(result, row, code);
      });

    test(`J1: ${row.name}: exit code ${row.code}, as a stream that ends with its result`, async () => {
      const { stdout, code } = await endOf(row, "stream-json");
      assert.ok(stdout.endsWith("\n"));
      const lines: Record<string, unknown>[] = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      for (const line of lines)
        assert.deepEqual(
          HEAD_KEYS.filter((key) => !(key in line)),
          [],
        );
      assert.deepEqual(
        lines.map(({ n }) => n),
        lines.map((_, index) => index + 1),
      );
      const stored = lines.filter(({ seq }) => seq !== undefined).map(({ seq }) => seq);
      assert.deepEqual(
        stored,
        stored.map((_, index) => index + 1),
      );
      const types = lines.map(({ type }) => type);
      assert.ok(types.lastIndexOf("init") <= 0);
      assert.ok(row.isBefore || types[0] === "init");
      assert.equal(types.indexOf("result"), lines.length - 1);
      checkResult(lines.at(-1) ?? {}, row, code);
      if (row.isBefore) return;
      const root = lines[0]?.run_id;
      const ends = lines.filter(({ type, run_id }) => type === "run-end" && run_id === root);
      assert.deepEqual(
        ends.map(({ status }) => status),
        [row.status],
      );
    });
  }
});
