/** `sous run` beyond its endings: what it reads, what it writes, who waits for whom. */

import assert from "node:assert/strict";
import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, suite, test } from "node:test";
import { exitCodeFor } from "../../../../src/app/cli/report-error.ts";
import { openRunLog } from "../../../../src/app/cli/run/log.ts";
import { openOutlet, runOutput } from "../../../../src/app/cli/run/output.ts";
import {
  likelyFormat,
  MAX_STDIN_BYTES,
  readOutputSchema,
  readRunRequest,
  readStdin,
} from "../../../../src/app/cli/run/request.ts";
import {
  catchInterrupts,
  openUnlessStopped,
  patienceAfter,
  type StopSignal,
} from "../../../../src/app/cli/terminal/interrupts.ts";
import { agent } from "../../../../src/core/agent.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import { run } from "../../../../src/runtime.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says, streams } from "../../../../src/testing/steps.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { type Act, type RunProcess, runProcess, scriptFolder } from "../../../support/app/cli/run-process.ts";
import { simpleTool } from "../../../support/requirements/support.ts";

const SNAPSHOTS = join(import.meta.dirname, "../../../snapshots");
const folder = mkdtempSync(join(tmpdir(), "sous-run-test-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const START = { path: "lead", version: "0.0.0", model: "scripted/model", cwd: "/work", tools: ["look"], agents: [] };
const DISPLAY = { color: "never", ascii: false } as const;

type Line = Record<string, unknown>;

function linesOf(text: string): Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** What a usage mistake looks like: one sentence and exit code 2. */
async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.equal(exitCodeFor(error), 2, messageOf(error));
    return messageOf(error);
  }
  throw new Error("It was not refused");
}

suite("J1: stream-json", { concurrency: true }, () => {
  test("J1: the keys of every line are as they were promised", async () => {
    const written: string[] = [];
    const outlet = { write: async (text: string) => void written.push(text), isClosed: false, failure: undefined };
    const output = runOutput("stream-json", outlet, DISPLAY);
    const lead = agent({
      name: "lead",
      model: scriptedModel({
        lead: [[streams("I ", "ask."), calls("look", { where: "there" })], calls("subagent", TASK), says("Done.")],
        "lead/*": [says("Found.")],
      }),
      tools: [simpleTool("look", () => "nothing")],
      delegate: true,
    });
    const handle = run(lead, "Go.");
    const following = output.follow(handle, { runId: handle.id, ...START });
    const result = await handle;
    await following;
    await output.end(result);
    const shapes = new Map(linesOf(written.join("")).map((line) => [String(line.type), shapeOf(line)]));
    const lines = [...shapes].flatMap(([type, shape]) => [`${type}`, ...shape.map((field) => `  ${field}`), ""]);
    assertGolden("stream-json.txt", lines.slice(0, -1), SNAPSHOTS);
  });

  test("R12: a reader that takes nothing is owed every stored event, and pieces of text are dropped for it", async () => {
    const pieces = Array.from({ length: 500 }, () => "piece ");
    const turns = 60;
    const free = Promise.withResolvers<void>();
    const written: string[] = [];
    const outlet = {
      write: (text: string) => {
        written.push(text);
        return free.promise;
      },
      isClosed: false,
      failure: undefined,
    };
    const output = runOutput("stream-json", outlet, DISPLAY);
    const turn = [streams(...pieces), calls("look", {})];
    const lead = agent({
      name: "lead",
      model: scriptedModel(...Array.from({ length: turns }, () => turn), says("Done.")),
      tools: [simpleTool("look", () => "x".repeat(10_000))],
      maxTurns: 100,
    });
    const handle = run(lead, "Go.");
    const following = output.follow(handle, { runId: handle.id, ...START });
    const result = await handle;
    assert.equal(written.length, 1, "the run does not wait for its reader, and nothing is pushed at it");
    free.resolve();
    await following;
    await output.end(result);
    const lines = linesOf(written.join(""));
    const stored = lines.filter(({ seq }) => seq !== undefined);
    assert.deepEqual(
      stored.map(({ seq }) => seq),
      stored.map((_, index) => index + 1),
    );
    assert.equal(stored.filter(({ type }) => type === "tool-call-end").length, turns);
    assert.ok(lines.filter(({ type }) => type === "text-delta").length < (turns * pieces.length) / 10);
    assert.equal(lines.at(-1)?.type, "result");
  });
});

const LISTS = { calls: [{ tool: "list_files", input: {} }] };
const TASK = { label: "scout", task_prompt: "Look." };

/** `usage.total_tokens number`, … What tools and models have named is not ours to promise. */
function shapeOf(line: Line, before = ""): string[] {
  return Object.entries(line).flatMap(([name, value]) => {
    const path = `${before}${name}`;
    if (Array.isArray(value)) {
      const [first] = value;
      const isRecord = typeof first === "object" && first !== null;
      return isRecord ? shapeOf(first, `${path}[].`) : [`${path}[] ${value.length === 0 ? "?" : typeof first}`];
    }
    const isOurs = typeof value === "object" && value !== null && name !== "input" && name !== "metadata";
    return isOurs ? shapeOf({ ...value }, `${path}.`) : [`${path} ${value === null ? "null" : typeof value}`];
  });
}

suite("J1: stdout", { concurrency: true }, () => {
  test("J1: a write waits until it is taken, and not for a reader that is gone", async () => {
    const taken: (() => void)[] = [];
    let onError = (_error: Error): void => {};
    let closings = 0;
    const stream = {
      write: (_text: string, done: () => void) => taken.push(done) > 0,
      on: (_name: string, listener: (error: Error) => void) => {
        onError = listener;
      },
    };
    const patience = new AbortController();
    const outlet = openOutlet({
      stream: stream as never,
      onClosed: () => (closings += 1),
      patience: patience.signal,
    });
    const order: string[] = [];
    const first = outlet.write("one").then(() => order.push("one"));
    await new Promise(setImmediate);
    assert.deepEqual(order, []);
    taken[0]?.();
    await first;
    const second = outlet.write("two");
    onError(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    onError(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    await second;
    await outlet.write("three");
    assert.deepEqual([outlet.isClosed, outlet.failure, closings, taken.length], [true, undefined, 1, 2]);
  });

  test("J1: a full disk is not a reader who is gone", async () => {
    let onError = (_error: Error): void => {};
    const stream = { write: () => false, on: (_name: string, listener: typeof onError) => (onError = listener) };
    const outlet = openOutlet({ stream: stream as never, onClosed: () => {}, patience: new AbortController().signal });
    const writing = outlet.write("one");
    onError(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    await writing;
    assert.deepEqual([outlet.isClosed, outlet.failure?.message], [false, "no space left"]);
  });

  test("R8: a run that was told to stop is not waited for after a while", async () => {
    const stop = new AbortController();
    using patience = patienceAfter(stop.signal, 5);
    const never = new Promise<string>(() => {});
    assert.equal(await patience.wait(Promise.resolve("in time")), "in time");
    stop.abort();
    assert.equal(await patience.wait(never), undefined);
    assert.ok(patience.signal.aborted);
  });
});

test("R8: the first interrupt asks for an end, the second stops, and any other signal stops at once", () => {
  const stateAfter = (...signals: NodeJS.Signals[]): unknown[] => {
    using interrupts = catchInterrupts({ wrapsUp: true });
    for (const signal of signals) process.emit(signal);
    const { wrapUp, signal } = interrupts;
    return [wrapUp.aborted, signal.aborted, interrupts.reason(), interrupts.exitCode()];
  };
  const before = process.listenerCount("SIGINT");
  assert.deepEqual(stateAfter(), [false, false, undefined, 130]);
  assert.deepEqual(stateAfter("SIGINT"), [true, false, "SIGINT", 130]);
  assert.deepEqual(stateAfter("SIGINT", "SIGINT"), [true, true, "SIGINT", 130]);
  assert.deepEqual(stateAfter("SIGINT", "SIGTERM"), [true, true, "SIGTERM", 143]);
  assert.deepEqual(stateAfter("SIGTERM"), [false, true, "SIGTERM", 143]);
  assert.deepEqual(stateAfter("SIGHUP"), [false, true, "SIGHUP", 129]);
  assert.equal(process.listenerCount("SIGINT"), before, "nothing is left behind");
});

test("R8: a signal that came before there was a listener counts like any other", () => {
  const stateAfter = (...came: StopSignal[]): unknown[] => {
    using interrupts = catchInterrupts({ wrapsUp: true, earlier: () => came });
    using patience = patienceAfter(interrupts.signal, 0);
    const { wrapUp, signal } = interrupts;
    return [wrapUp.aborted, signal.aborted, interrupts.exitCode(), patience.signal.aborted];
  };
  assert.deepEqual(stateAfter("SIGINT"), [true, false, 130, false]);
  assert.deepEqual(stateAfter("SIGINT", "SIGINT"), [true, true, 130, false]);
  assert.deepEqual(stateAfter("SIGTERM", "SIGINT"), [false, true, 143, false]);
});

test("R8: a command that is stopped while something is opened does not wait for it, and it is closed again", async () => {
  const stop = new AbortController();
  const opened = Promise.withResolvers<AsyncDisposable>();
  const waiting = openUnlessStopped(opened.promise, stop.signal);
  stop.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  const closed = Promise.withResolvers<string>();
  opened.resolve({ [Symbol.asyncDispose]: async () => closed.resolve("closed") });
  assert.equal(await closed.promise, "closed");
  const sooner = { [Symbol.asyncDispose]: () => assert.fail("it is in use") };
  assert.equal(await openUnlessStopped(Promise.resolve(sooner), new AbortController().signal), sooner);
});

suite("J1: the words and options of sous run", { concurrency: true }, () => {
  test("J1: one sentence says what is missing without a prompt, or what is wrong with a word", async () => {
    const sentences: [parameters: string[], sentence: RegExp][] = [
      [[], /^sous run needs a prompt: sous run "…", or sous run - to read it from standard input$/],
      [["  "], /^sous run needs a prompt/],
      [["x", "--output-format", "yaml"], /^--output-format is one of text, json, stream-json; found "yaml"$/],
      [["x", "--json", "--output-format", "text"], /^--json is --output-format json, and not text$/],
      [["x", "--budget", "much"], /^--budget is an amount of US dollars/],
      [["x", "--timeout", "0"], /^--timeout is a time greater than 0/],
      [["x", "--log-level", "loud"], /^--log-level is one of debug, info, warn, error; found "loud"$/],
    ];
    for (const [parameters, sentence] of sentences)
      assert.match(await refusal(() => readRunRequest(parameters)), sentence);
    assert.equal(readRunRequest(["fix", "the", "tests"]).prompt, "fix the tests");
    assert.equal(readRunRequest(["--", "--not an option"]).prompt, "--not an option");
  });

  test("J1: a mistake in the options is told in the format that they ask for", () => {
    assert.equal(likelyFormat(["x", "--output-format", "stream-json", "--bogus"]), "stream-json");
    assert.equal(likelyFormat(["x", "--output-format=json"]), "json");
    assert.equal(likelyFormat(["--json", "x"]), "json");
    assert.equal(likelyFormat(["x", "--output-format", "yaml"]), "text");
    assert.equal(likelyFormat(["--", "--json"]), "text");
  });

  test("J1: --output-schema takes a file or the schema itself, and says what is wrong with it", async () => {
    const schema = { type: "object", properties: { hits: { type: "array", items: { type: "string" } } } };
    const file = join(folder, "schema.json");
    writeFileSync(file, JSON.stringify(schema));
    assert.deepEqual(await readOutputSchema(file), schema);
    assert.deepEqual(await readOutputSchema(JSON.stringify(schema)), schema);
    const broken = join(folder, "broken.json");
    writeFileSync(broken, "[1]");
    assert.match(
      await refusal(() => readOutputSchema(broken)),
      /broken\.json is not a JSON Schema: it must be an object$/,
    );
    assert.match(await refusal(() => readOutputSchema("{ type: object }")), /^--output-schema is not JSON: /);
    assert.match(await refusal(() => readOutputSchema('{"type":"strnig"}')), /^--output-schema: .*strnig/);
    assert.match(
      await refusal(() => readOutputSchema(join(folder, "none.json"))),
      /none\.json cannot be read: it does not exist/,
    );
  });
});

suite("J1: standard input", { concurrency: true }, () => {
  const { signal } = new AbortController();

  test("J1: all of standard input is read, also when a character arrives in two pieces", async () => {
    const bytes = Buffer.from("größer");
    const stream = Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]);
    assert.equal(await readStdin({ signal, stream }), "größer");
  });

  test("J1: a prompt of more than 10 MB is refused and not read to its end", async () => {
    let given = 0;
    const piece = Buffer.alloc(1_000_000, "x");
    const stream = Readable.from(
      (function* () {
        for (;;) {
          given += 1;
          yield piece;
        }
      })(),
    );
    assert.match(await refusal(() => readStdin({ signal, stream })), /^Standard input has more than 10 MB/);
    assert.ok(given * piece.length < 4 * MAX_STDIN_BYTES);
  });

  test("J1: an interrupt ends the waiting for standard input", async () => {
    const stop = new AbortController();
    const reading = readStdin({ signal: stop.signal, stream: new Readable({ read() {} }) });
    stop.abort();
    await assert.rejects(reading, { name: "AbortError" });
  });
});

suite("F1: the log of a run", { concurrency: true }, () => {
  const flags = { format: "json", level: undefined, isQuiet: false } as const;

  test("F1: nothing is logged unless it is asked for", async () => {
    assert.equal(await openRunLog({ flags, file: undefined, env: {}, enabled: true }), undefined);
    assert.match(
      await refusal(() => openRunLog({ flags, file: undefined, env: { SOUS_LOG_LEVEL: "loud" }, enabled: true })),
      /^SOUS_LOG_LEVEL is one of debug, info, warn, error; found "loud"$/,
    );
  });

  test("B8.1: a log file is private, and a link in its place is not followed", async () => {
    const target = join(folder, "target");
    writeFileSync(target, "before");
    const link = join(folder, "link.log");
    symlinkSync(target, link);
    await assert.rejects(openRunLog({ flags, file: link, env: {}, enabled: true }), /link\.log cannot be written/);
    assert.equal(readFileSync(target, "utf8"), "before");
    const file = join(folder, "run.log");
    using _log = await openRunLog({ flags, file, env: {}, enabled: true });
    assert.equal(lstatSync(file).mode & 0o777, 0o600);
  });
});

suite("J1: sous run as a process", { concurrency: 4 }, () => {
  const scripts = scriptFolder({
    answers: {
      sous: [{ calls: [{ tool: "subagent", input: TASK }] }, { text: '{ "hits": ["a\u2028b"] }' }],
      "sous/*": [{ text: "Found." }],
    },
    talks: {
      sous: [{ text: "y".repeat(2_000_000), calls: [{ tool: "subagent", input: TASK }] }],
      "sous/*": [{ ending: "hangs" }],
    },
    /** Says something every now and then after its first tool call, until nobody listens. */
    "goes on": {
      sous: [
        LISTS,
        ...Array.from({ length: 40 }, () => ({ wait_ms: 300, text: "More.", ...LISTS })),
        { ending: "hangs" },
      ],
    },
    tabs: { sous: [{ text: "all:\n\techo \u001b[1mhi\u001b[0m" }] },
  });
  after(async () => (await scripts)[Symbol.asyncDispose]());
  const at = async (parameters: string[], more: Partial<RunProcess> = {}) => {
    const { path: cwd } = await scripts;
    return { cwd, ended: await runProcess({ cwd, parameters: [...parameters, "--ephemeral"], ...more }) };
  };

  test("J1: piped text follows the prompt as a text of its own", async () => {
    const parameters = ["-p", "Sum up.", "--model", "script/answers.json", "--output-format", "stream-json"];
    const { ended } = await at(parameters, { input: "line one\nline two\n" });
    const start = linesOf(ended.stdout).find(({ type }) => type === "run-start");
    assert.deepEqual(start?.task, {
      role: "user",
      content: [
        { type: "text", text: "Sum up." },
        { type: "text", text: "\n\nStandard input:\n\nline one\nline two\n" },
      ],
    });
  });

  test("J1, F1: - takes the prompt from stdin, --output-schema gives a value, and --quiet with --log-file has a silent stderr", async () => {
    const schema = JSON.stringify({ type: "object", properties: { hits: { type: "array" } }, required: ["hits"] });
    const log = ["--quiet", "--log-file", "life.log", "--log-format", "json"];
    const parameters = ["run", "-", "--model", "script/answers.json", "--json", "--output-schema", schema, ...log];
    const { path: cwd } = await scripts;
    const ended = await runInProcess({ cwd, parameters: [...parameters, "--ephemeral"], input: "Find it.\n" });
    assert.deepEqual([ended.code, ended.stderr], [0, ""]);
    assert.deepEqual(JSON.parse(ended.stdout).output, { hits: ["a\u2028b"] });
    const lines = linesOf(readFileSync(join(cwd, "life.log"), "utf8"));
    assert.deepEqual(
      lines.map(({ event, label }) => `${event} ${label}`),
      ["subagent.spawn scout", "subagent.complete scout"],
    );
  });

  test("J1: an answer with a schema is JSON when it is printed as text, and tabs of an answer stay in a pipe", async () => {
    const schema = ["--output-schema", '{"type":"object"}'];
    const { path: cwd } = await scripts;
    const printed = async (...parameters: string[]) =>
      (await runInProcess({ cwd, parameters: ["run", ...parameters, "--ephemeral"] })).stdout;
    assert.equal(
      await printed("Find it.", "--model", "script/answers.json", ...schema),
      '{\n  "hits": [\n    "a\\u2028b"\n  ]\n}\n',
    );
    assert.equal(await printed("Write a Makefile.", "--model", "script/tabs.json"), "all:\n\techo hi\n");
  });

  test("J1: a closed stdout ends a run with 141 and without a word of ours about code", async () => {
    const acts: Act[] = [{ at: /^/, act: "close stdout" }];
    const { ended } = await at(["run", "Go.", "--model", "script/answers.json", "--json"], { acts });
    assert.deepEqual([ended.code, ended.signal], [141, null]);
    assert.doesNotMatch(ended.stderr, /EPIPE| at /);
  });

  test("J1: a reader that goes away stops the run, and its events so far are stored", async () => {
    const acts: Act[] = [{ at: /"tool-call-start"/, act: "close stdout" }];
    const { path: cwd } = await scripts;
    const flags = ["--model", "script/goes on.json", "--output-format", "stream-json", "--db-path", "gone.db"];
    const ended = await runProcess({ cwd, parameters: ["run", "Go.", ...flags], acts });
    assert.deepEqual([ended.code, ended.signal], [141, null]);
    await using store = await openSqliteStore(join(cwd, "gone.db"), { readOnly: true });
    assert.equal((await store.list({ rootsOnly: true, limit: 1 }))[0]?.status, "cancelled");
  });

  test("J1: a reader that stops reading cannot keep a run from ending", async () => {
    const acts: Act[] = [
      { at: /^/, act: "stop reading" },
      { at: /subagent\.spawn/, act: "SIGTERM" },
    ];
    const flags = ["--model", "script/talks.json", "--output-format", "stream-json", "--log-level", "info"];
    const { ended } = await at(["run", "Go.", ...flags], { acts });
    assert.deepEqual([ended.code, ended.signal], [143, null]);
  });
});
