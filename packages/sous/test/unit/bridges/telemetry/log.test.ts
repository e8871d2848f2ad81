/** Lifecycle logs: every fact of F1 from real trees, with the fields that are promised and no others. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createLifecycleLog, type LifecycleLogOptions } from "../../../../src/bridges/telemetry/log.ts";
import { agent } from "../../../../src/core/agent.ts";
import { ModelError, UserError } from "../../../../src/core/errors.ts";
import type { RunOptions } from "../../../../src/core/runtime.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { after, calls, type Script, type Step, says, uses } from "../../../../src/testing/steps.ts";
import { externalTree } from "../../../support/external-tree.ts";

type Logged = { lines: string[]; entries: Record<string, unknown>[] };

const OPTIONS = { format: "json", level: "debug", enabled: true } as const;

/** The lines of one tree; `isStored` is what its store said. */
async function logOf(
  script: Script,
  options: Partial<LifecycleLogOptions> = {},
  runOptions: RunOptions = {},
  isStored = true,
): Promise<Logged> {
  const lines: string[] = [];
  const log = createLifecycleLog({ ...OPTIONS, ...options, write: (line) => lines.push(line) });
  const lead = agent({ name: "lead", model: scriptedModel(script), delegate: true });
  await run(lead, "Go.", { ...runOptions, onEvent: log.onEvent }).result;
  const { settle } = log;
  settle(isStored);
  const isJson = (options.format ?? "json") === "json";
  return { lines, entries: isJson ? lines.map((line) => JSON.parse(line)) : [] };
}

/** Without the moment, and with what differs from run to run as a word. */
function facts({ entries }: Logged): Record<string, unknown>[] {
  return entries.map(({ ts, ...entry }) => {
    assert.match(String(ts), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    if ("conversation_id" in entry) entry.conversation_id = /^[0-9A-Z]{26}$/.test(String(entry.conversation_id));
    if ("duration_ms" in entry) entry.duration_ms = Number.isInteger(entry.duration_ms);
    if ("tokens_consumed" in entry) entry.tokens_consumed = Number(entry.tokens_consumed) > 0;
    return entry;
  });
}

function fails(message: string): Step {
  return { step: "fail", error: new ModelError("invalid_request", message) };
}

const child = (label: string, more: object = {}) => ({ label, task_prompt: `Do ${label}.`, ...more });

test("F1: the session of an external agent is logged, and with debug what it does by itself", () => {
  const linesAt = (level: "info" | "debug") => {
    const lines: string[] = [];
    const log = createLifecycleLog({ level, write: (line) => lines.push(line) });
    for (const event of externalTree().events) log.onEvent(event);
    return lines.map((line) => JSON.parse(line)).filter(({ event }) => /session|outside/.test(event));
  };
  const session = {
    level: "info",
    event: "subagent.session",
    ...{ label: "claude", depth: 1, server: "Claude Code", session_id: "session-1", continued: false },
  };
  const call = { level: "debug", event: "subagent.outside_call", label: "claude", depth: 1 };
  const untimed = (entries: { ts: string }[]) => entries.map(({ ts: _ts, ...entry }) => entry);
  assert.deepEqual(untimed(linesAt("info")), [session]);
  assert.deepEqual(untimed(linesAt("debug")), [
    session,
    { ...call, name: "Bash", kind: "execute", status: "failed" },
    { ...call, name: "edit", kind: "edit", status: "completed" },
  ]);
});

suite("F1: createLifecycleLog for programs", () => {
  test("F1: a log needs only write: it is JSON lines from info on", async () => {
    const lines: string[] = [];
    const log = createLifecycleLog({ write: (line) => lines.push(line) });
    const model = scriptedModel({
      lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Done.")],
      "lead/*": [says("Found.")],
    });
    const { lost } = await run(agent({ name: "lead", model, delegate: true }), "Go.", { onEvent: log.onEvent });
    log.settle(lost === undefined);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ["subagent.spawn", "subagent.complete", "subagent.persisted"],
    );
  });

  test("F1: an option that is not allowed is refused in one sentence", () => {
    const write = (): void => {};
    const wrong: [options: object, message: string][] = [
      [{}, "createLifecycleLog() needs write, a function that takes a line"],
      [{ write, format: "xml" }, 'createLifecycleLog(): format must be "json" or "pretty"; found "xml"'],
      [
        { write, level: "loud" },
        'createLifecycleLog(): level must be "debug" or "info" or "warn" or "error"; found "loud"',
      ],
    ];
    for (const [options, message] of wrong)
      assert.throws(() => createLifecycleLog(options as LifecycleLogOptions), new UserError(message));
  });
});

suite("F1: lifecycle logs", { concurrency: true }, () => {
  test("F1: a child is spawned, completes and is persisted", async () => {
    const logged = await logOf({
      lead: [calls("subagent", child("scout", { max_turns: 7 })), says("Done.")],
      "lead/*": [says("Found.")],
    });
    const head = { label: "scout", depth: 1 };
    assert.deepEqual(facts(logged), [
      { level: "info", event: "subagent.spawn", ...head, max_turns: 7, allowed_tools: [] },
      { level: "info", event: "subagent.complete", ...head, turns_used: 1, tokens_consumed: true, status: "complete" },
      { level: "info", event: "subagent.persisted", ...head, conversation_id: true },
    ]);
  });

  test("F1: a fan-out says how many tasks it has, and how many of them went well", async () => {
    const tasks = [child("one"), child("two"), child("three")];
    const logged = await logOf(
      {
        lead: [calls("parallel_subagent", { tasks, max_concurrent: 2 }), says("Done.")],
        "lead/two": [fails("No such thing")],
        "lead/*": [says("Found.")],
      },
      {},
      {},
      false,
    );
    const [first, ...rest] = facts(logged);
    const head = { label: "lead", depth: 0, task_count: 3, max_concurrent: 2 };
    assert.deepEqual(first, { level: "info", event: "parallel_subagent.start", ...head });
    const end = { level: "info", event: "parallel_subagent.complete", ...head };
    assert.deepEqual(rest.at(-1), { ...end, successful: 2, failed: 1, duration_ms: true });
    assert.deepEqual(
      rest.filter(({ label }) => label === "two"),
      [
        { level: "info", event: "subagent.spawn", label: "two", depth: 1, max_turns: 10, allowed_tools: [] },
        { level: "error", event: "subagent.error", label: "two", depth: 1, error: "No such thing" },
        {
          level: "info",
          event: "subagent.complete",
          label: "two",
          depth: 1,
          turns_used: 1,
          tokens_consumed: false,
          status: "failed",
        },
      ],
    );
  });

  test("F1: a child that was not kept is never called persisted", async () => {
    const script = { lead: [calls("subagent", child("scout")), says("Done.")], "lead/*": [says("Found.")] };
    const { entries } = await logOf(script, {}, {}, false);
    assert.deepEqual(
      entries.map(({ event }) => event),
      ["subagent.spawn", "subagent.complete"],
    );
  });

  test("F1: running out of turns, a cut report and a level too deep each have a line of their own", async () => {
    const logged = await logOf(
      {
        lead: [calls("subagent", child("busy", { max_turns: 1 })), calls("subagent", child("talker")), says("Done.")],
        "lead/busy": [calls("subagent", child("deeper")), says("What I have.")],
        "lead/talker": [says("x".repeat(3000)), says("y".repeat(2000))],
      },
      {},
      { limits: { maxDepth: 1, outputMaxSize: 1024 } },
    );
    const special = facts(logged).filter(({ event }) => /max_turns|truncation|depth_limit/.test(String(event)));
    assert.deepEqual(special, [
      { level: "debug", event: "subagent.depth_limit", label: "deeper", depth: 2, current_depth: 1, max_depth: 1 },
      { level: "warn", event: "subagent.max_turns_exceeded", label: "busy", depth: 1, max_turns: 1 },
      {
        level: "warn",
        event: "subagent.truncation",
        label: "talker",
        depth: 1,
        original_size: 2000,
        truncated_size: 1024,
      },
    ]);
  });

  test("a child that waits for its budget is a line for debugging, and a limit that is nearly spent a warning", async () => {
    const tasks = [child("one"), child("two"), child("three")];
    const script = {
      lead: [calls("parallel_subagent", { tasks }), says("Done.")],
      "lead/*": [[after(5), says("Found."), uses({ input: 2000, output: 1000 })]],
    };
    const limits = { children: { tokens: 10_000 } };
    const about = (logged: Logged) => facts(logged).filter(({ event }) => String(event).startsWith("budget."));
    const limit = { depth: 1, of: "children", unit: "tokens", limit: 10_000 };
    const told = about(await logOf(script, {}, { limits }));
    const [wait] = told;
    assert.ok(Number(wait?.reserved) > 4096);
    assert.deepEqual(
      { ...wait, reserved: 0 },
      {
        level: "debug",
        event: "budget.wait",
        label: "two",
        ...limit,
        spent: 0,
        reserved: 0,
      },
    );
    const warned = about(await logOf(script, { level: "warn" }, { limits }));
    assert.deepEqual(warned, [
      { level: "warn", event: "budget.near", label: "three", ...limit, spent: 9000, reserved: 1000 },
    ]);
  });

  test("F1: a refused child is an error without a spawn", async () => {
    const script = { lead: [calls("subagent", child("second")), says("Done.")], "lead/*": [says("Found.")] };
    const logged = await logOf(script, {}, { budget: { executions: 0 } });
    const [entry, ...rest] = facts(logged);
    assert.deepEqual(
      [entry?.event, entry?.level, entry?.label, entry?.depth],
      ["subagent.error", "error", "second", 1],
    );
    assert.match(String(entry?.error), /^Execution limit reached: 0\/0/);
    assert.deepEqual(rest, []);
  });

  test("F1: a level leaves out what is below it, and telemetry_enabled: false everything", async () => {
    const script = () => ({
      lead: [calls("subagent", child("good")), calls("subagent", child("bad")), says("Done.")],
      "lead/bad": [fails("No")],
      "lead/good": [says("Found.")],
    });
    const errors = await logOf(script(), { level: "error" });
    assert.deepEqual(
      errors.entries.map(({ event }) => event),
      ["subagent.error"],
    );
    assert.deepEqual((await logOf(script(), { enabled: false })).lines, []);
  });

  test("F1, B2.2: nothing in a label can act on a terminal or make a line, as JSON and as words", async () => {
    const label = "evil\u001b[2J\u009b31m\u2028\u202e\nsubagent.spawn label=forged\u0007";
    const script = () => ({
      lead: [calls("subagent", child(label)), says("Done.")],
      "lead/**": [fails("bad \u001b]0;title\u0007\r\nthing")],
    });
    const json = await logOf(script());
    const pretty = await logOf(script(), { format: "pretty" });
    assert.equal(json.entries[0]?.label, label, "JSON keeps what it says");
    assert.equal(json.lines.length, pretty.lines.length);
    for (const line of [...json.lines, ...pretty.lines]) {
      assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }
    const [spawn] = pretty.lines;
    assert.match(spawn ?? "", /^\S+Z INFO {2}subagent\.spawn label="evil.*" depth=1 max_turns=10 allowed_tools=/);
  });
});
