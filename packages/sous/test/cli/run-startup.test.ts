/** `sous run` that is told to stop before its run has begun: the exit code of the signal, and a result all the same. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { dataFolder, sous } from "./sous-process.ts";

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
    test(`J1: ${signal} while the command is loaded ends it with ${code} and a result`, async () => {
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

  test("J1: TERM while the key is waited for ends it with 143, and the program that was asked is gone", async () => {
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
