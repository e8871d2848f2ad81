/** `sous run` and `sous resume` where their output goes: a terminal, a full disk, a log, a pipe that stays silent. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { suite, test } from "node:test";
import { inProcess, runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";
import { compiled, MAIN, sous } from "../../../support/app/cli/sous-process.ts";
import { CommandInTerminal } from "../../../support/app/cli/terminal-screen.ts";

const LISTS = { calls: [{ tool: "list_files", input: {} }] };
const SCRIPTS = {
  script: {
    sous: [
      { text: "I look.", calls: [{ tool: "subagent", input: { label: "scout", task_prompt: "Look." } }] },
      { text: "Every word of this answer is\tkept whole at the end of a line." },
    ],
    "sous/scout": [LISTS, { text: "Here." }],
  },
};
const RUN = ["run", "Go.", "--model", "script/script.json"];

function envOf(path: string): Record<string, string> {
  return { HOME: path, XDG_DATA_HOME: path, XDG_CONFIG_HOME: path, XDG_STATE_HOME: path };
}

suite("J1: sous run", () => {
  test("J1: sous run in a terminal leaves the tree of its runs, and breaks the answer between words", async () => {
    await using place = await scriptFolder(SCRIPTS);
    const options = { cwd: place.path, env: envOf(place.path), columns: 40 };
    using command = new CommandInTerminal([...RUN, "--ephemeral", "--color", "never"], options);
    assert.equal(await command.ended, 0);
    const text = command.screen.text();
    assert.match(text, /^Every word of this answer is {4}kept\nwhole at the end of a line\.$/m);
    assert.match(text, /^✓ sous {2}completed\n/m);
    assert.match(text, /^└─ ✓ scout {2}completed\n/m);
  });

  test("J1: sous run ends with 1 and one sentence when its answer cannot be written", {
    skip: !existsSync("/dev/full"),
  }, async () => {
    await using place = await scriptFolder(SCRIPTS);
    const full = openSync("/dev/full", "w");
    try {
      const child = spawn(process.execPath, [MAIN, ...RUN, "--quiet", "--ephemeral"], {
        cwd: place.path,
        env: { NODE_COMPILE_CACHE: compiled, ...envOf(place.path) },
        stdio: ["ignore", full, "pipe"],
      });
      let stderr = "";
      child.stderr?.on("data", (chunk) => (stderr += chunk));
      const code = await new Promise((resolve) => child.on("close", resolve));
      assert.equal(stderr, "error: the answer cannot be written: ENOSPC: no space left on device, write\n");
      assert.equal(code, 1);
    } finally {
      closeSync(full);
    }
  });

  test("C2: a run on a full disk, and a copy of one, answer and warn once that they are not stored to their end", async () => {
    await using place = await scriptFolder(SCRIPTS);
    const options = { cwd: place.path, env: envOf(place.path) };
    const lost = /^warning: the run is not stored to its end, so it cannot be resumed: The store failed 4 times .*\n$/;
    assert.equal((await inProcess([...RUN, "--quiet"], options)).code, 0);
    for (const parameters of [
      [...RUN, "--quiet"],
      ["resume", "last", "--fork", "--at", "1", "--quiet"],
    ]) {
      const { code, stdout, stderr } = await sous(parameters, { ...options, maxFileKb: 48 });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Every word of this answer/);
      assert.match(stderr, lost);
    }
  });

  test("J1: sous run says what it waits for when nothing comes from its standard input", async () => {
    await using place = await scriptFolder(SCRIPTS);
    const child = spawn(process.execPath, [MAIN, ...RUN, "--quiet", "--ephemeral"], {
      cwd: place.path,
      env: { NODE_COMPILE_CACHE: compiled, ...envOf(place.path), NODE_OPTIONS: `--import=${FASTER}` },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
      if (stderr.includes("</dev/null")) child.stdin.end();
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(stderr, "waiting for the end of standard input; add </dev/null to run without it\n");
    assert.equal(code, 0);
  });
});

/** What would take three seconds comes soon. */
const FASTER = `data:text/javascript,${encodeURIComponent(
  "const real = setTimeout; globalThis.setTimeout = (call, ms, ...rest) => real(call, ms === 3000 ? 20 : ms, ...rest);",
)}`;

test("F1: sous resume shows its progress beside a log for people, and nothing between the lines of a log in JSON", async () => {
  await using place = await scriptFolder(SCRIPTS);
  const { path: cwd } = place;
  assert.equal((await runInProcess({ cwd, parameters: [...RUN, "--quiet"] })).code, 0);
  const copy = ["resume", "last", "--fork", "--at", "1", "--log-level", "info"];
  const text = await runInProcess({ cwd, parameters: copy });
  assert.match(text.stderr, /subagent\.complete/);
  assert.match(text.stderr, /^sous\/scout {2}list_files/m);
  const json = await runInProcess({ cwd, parameters: [...copy, "--log-format", "json"] });
  assert.equal(json.code, 0);
  for (const line of json.stderr.trimEnd().split("\n")) assert.equal(typeof JSON.parse(line).event, "string", line);
});

test("J1: sous resume ends with 4 when the key is refused, and with 1 when the model fails otherwise", async () => {
  for (const [kind, code] of [
    ["auth", 4],
    ["invalid_request", 1],
  ] as const) {
    await using place = await scriptFolder({ script: { sous: [LISTS, { error: { kind, message: "No." } }] } });
    const { path: cwd } = place;
    assert.equal((await runInProcess({ cwd, parameters: [...RUN, "--quiet"] })).code, code);
    const again = await runInProcess({ cwd, parameters: ["resume", "last", "--quiet"] });
    assert.equal(again.code, code, again.stderr);
  }
});
