/** `sous run` that is told to stop before its run has begun: the exit code of the signal, and a result all the same. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { openApplication } from "../../../../src/app/cli/application/open.ts";
import { watchHeadless } from "../../../../src/app/cli/commands/run.ts";
import type { RunRequest } from "../../../../src/app/cli/run/request.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { catchInterrupts, patienceAfter } from "../../../../src/app/cli/terminal/interrupts.ts";
import { dataFolder, sous } from "../../../support/app/cli/sous-process.ts";

/** Sends the signal to the process that loads a file whose name ends so. */
function signalWhenLoaded(end: string, signal: NodeJS.Signals): string {
  return `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) {
  if (url.endsWith(${JSON.stringify(end)})) process.kill(process.pid, ${JSON.stringify(signal)});
  return next(url, context);
} });`;
}

/** What kills it outlives the command by a moment. */
async function isSoonGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (!existsSync(`/proc/${pid}`)) return true;
    await setTimeout(20);
  }
  return false;
}

function lastLine(stdout: string): unknown[] {
  const { n, type, status, error } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "{}");
  return [n, type, status, error?.type];
}

suite("J1: a signal before the run has begun", { concurrency: true }, () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    test(`J1: ${signal} while the command is loaded ends a run with ${code} and a result`, async () => {
      await using folder = await dataFolder();
      const hook = join(folder.path, "hook.mjs");
      writeFileSync(hook, signalWhenLoaded("/cli/commands/run.ts", signal));
      const env = { ...folder.env, XDG_CONFIG_HOME: folder.path, NODE_OPTIONS: `--import=${pathToFileURL(hook)}` };
      const ended = await sous(["run", "Go.", "--output-format", "stream-json"], { fromSources: true, env });
      assert.equal(ended.code, code, ended.stderr);
      assert.deepEqual(lastLine(ended.stdout), [1, "result", "cancelled", "cancelled"]);
      assert.equal(ended.stderr, `stopped by ${signal}\n`);
      assert.equal(existsSync(folder.file), false, "nothing was opened for it");
    });
  }

  test("J1: SIGINT when everything is open and the run is about to begin asks the run for its last words", async () => {
    await using folder = await dataFolder();
    const hook = join(folder.path, "hook.mjs");
    writeFileSync(hook, signalWhenLoaded("/package.json", "SIGINT"));
    const script = join(folder.path, "script.json");
    writeFileSync(script, JSON.stringify({ sous: [{ wait_ms: 60_000, text: "never" }] }));
    const env = { ...folder.env, XDG_CONFIG_HOME: folder.path, NODE_OPTIONS: `--import=${pathToFileURL(hook)}` };
    const ended = await sous(["run", "Go.", "--quiet", "--model", `script/${script}`], { fromSources: true, env });
    assert.equal(ended.code, 130, ended.stderr);
    assert.match(ended.stderr, /^wrapping up: tools and children are stopped; once more stops at once\n/);
  });

  test("J1: TERM while the key is waited for ends the run with 143, and the program that was asked is gone", async () => {
    await using folder = await dataFolder();
    const program = join(folder.path, "key.sh");
    const pid = join(folder.path, "pid");
    writeFileSync(program, `#!/bin/sh\necho $$ > ${pid}\nkill -TERM $PPID\nexec sleep 300\n`);
    chmodSync(program, 0o700);
    const config = join(folder.path, "config.yaml");
    writeFileSync(config, `model: anthropic/claude-sonnet-4-5\nprovider: { api_key_command: "${program}" }\n`);
    const env = {
      ...folder.env,
      XDG_CONFIG_HOME: folder.path,
      XDG_STATE_HOME: folder.path,
      PATH: process.env.PATH ?? "",
    };
    const flags = ["--config", config, "--output-format", "stream-json"];
    // A key program in the project itself is refused.
    const work = join(folder.path, "work");
    mkdirSync(work);
    const ended = await sous(["run", "Go.", ...flags], { cwd: work, env });
    assert.equal(ended.code, 143, ended.stderr);
    assert.deepEqual(lastLine(ended.stdout), [1, "result", "cancelled", "cancelled"]);
    assert.ok(await isSoonGone(Number(readFileSync(pid, "utf8"))), "its guard has killed it");
  });
});

/** Everything that `sous run` opens before its run begins, with a model that follows the script. */
async function opened(path: string, script: object, warn: (line: string) => void) {
  const file = join(path, "script.json");
  writeFileSync(file, JSON.stringify(script));
  const { values } = readOptions(RUN, ["--quiet", "--ephemeral", "--model", `script/${file}`]);
  const flags = readRunFlags(values);
  const env = { HOME: path, XDG_DATA_HOME: path, XDG_CONFIG_HOME: path, XDG_STATE_HOME: path };
  const application = await openApplication({ flags, cwd: path, env, ask: undefined, warn });
  const request: RunRequest = {
    flags,
    format: "text",
    prompt: "Go.",
    outputSchema: undefined,
    parks: false,
    isDetached: false,
    logFile: undefined,
    display: { color: "never", ascii: false },
  };
  return { request, application, agent: application.agent, task: "Go.", log: undefined };
}

suite("J1: a run that is watched", () => {
  test("J1: a watched run that was interrupted before it began says its last words at once", async (t) => {
    await using folder = await dataFolder();
    const told: unknown[] = [];
    t.mock.method(process.stderr, "write", (text: unknown) => told.push(text));
    const headless = await opened(folder.path, { sous: [{ wait_ms: 60_000, text: "never" }] }, (line) =>
      told.push(line),
    );
    await using _application = headless.application;
    using interrupts = catchInterrupts({ wrapsUp: true, earlier: () => ["SIGINT"] });
    using patience = patienceAfter(interrupts.signal);
    const output = { follow: async () => {}, end: async () => {} };
    const result = await watchHeadless({ ...headless, output }, { interrupts, patience });
    assert.equal(result.status, "cancelled");
    assert.deepEqual(told, ["wrapping up: tools and children are stopped; once more stops at once\n"]);
  });

  test("J1: a watched run continues when its events can no longer be shown, and that is said once", async (t) => {
    await using folder = await dataFolder();
    const told: unknown[] = [];
    t.mock.method(process.stderr, "write", (text: unknown) => told.push(text));
    const headless = await opened(folder.path, { sous: [{ text: "Done." }] }, (line) => told.push(line));
    await using _application = headless.application;
    using interrupts = catchInterrupts({ wrapsUp: true });
    using patience = patienceAfter(interrupts.signal);
    const output = { follow: () => Promise.reject(new Error("the pipe\u001b[2J is broken")), end: async () => {} };
    const result = await watchHeadless({ ...headless, output }, { interrupts, patience });
    assert.equal(result.text, "Done.");
    assert.deepEqual(told, ["warning: not every event was shown: the pipe is broken\n"]);
  });
});
