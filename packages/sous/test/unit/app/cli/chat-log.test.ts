/** F1: the lifecycle logs of a chat and of a resumed run are those of `sous run`, and always have a place. */

import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openLogFile, openScreenLog } from "../../../../src/app/cli/run/log.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { agent } from "../../../../src/core/agent.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { type ScriptFolder, scriptFolder } from "../../../support/app/cli/run-process.ts";
import { TerminalInProcess } from "../../../support/app/cli/terminal-in-process.ts";

const SCRIPT = {
  script: {
    sous: [
      { calls: [{ tool: "subagent", input: { label: "scout", task_prompt: "Look." } }] },
      { text: "Seen." },
      { calls: [{ tool: "subagent", input: { label: "second", task_prompt: "Look." } }] },
      { text: "Again." },
    ],
    "sous/scout": [{ text: "Here." }],
    "sous/second": [{ text: "There." }],
  },
};

const CHAT = ["chat", "--model", "script/script.json", "--quiet"];
const JSON_LINES = ["--log-format", "json"];

/** One child from its start until it is stored. */
const lifeOf = (label: string) => [
  ["subagent.spawn", label],
  ["subagent.complete", label],
  ["subagent.persisted", label],
];

function eventsIn(text: string): unknown[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => [JSON.parse(line).event, JSON.parse(line).label]);
}

suite("F1: lifecycle logs of a chat in a pipe", () => {
  test("F1: a chat writes the life of its children to the file it is given, persisted after each message", async () => {
    await using place = await scriptFolder(SCRIPT);
    const log = join(place.path, "life.log");
    const { code, stdout } = await runInProcess({
      cwd: place.path,
      parameters: [...CHAT, "--log-file", log, ...JSON_LINES],
      input: "Look around\nOnce more\n",
    });
    assert.deepEqual([code, stdout], [0, "Seen.\nAgain.\n"]);
    assert.deepEqual(eventsIn(await readFile(log, "utf8")), [...lifeOf("scout"), ...lifeOf("second")]);
  });

  test("F1: a chat that stores nothing has no subagent.persisted", async () => {
    await using place = await scriptFolder(SCRIPT);
    const { code, stderr } = await runInProcess({
      cwd: place.path,
      parameters: [...CHAT, "--ephemeral", "--log-level", "info", ...JSON_LINES],
      input: "Look around\n",
    });
    assert.deepEqual([code, eventsIn(stderr)], [0, lifeOf("scout").slice(0, 2)]);
  });

  test("F1: SOUS_LOG_LEVEL holds for a chat as for a run: on stderr, and JSON lines with nothing between them", async () => {
    await using place = await scriptFolder(SCRIPT);
    const { code, stdout, stderr } = await runInProcess({
      cwd: place.path,
      parameters: ["chat", "--model", "script/script.json", ...JSON_LINES],
      env: { SOUS_LOG_LEVEL: "info" },
      input: "Look around\n",
    });
    assert.deepEqual([code, stdout], [0, "Seen.\n"]);
    assert.deepEqual(eventsIn(stderr), lifeOf("scout"));
    assert.ok(
      stderr
        .trimEnd()
        .split("\n")
        .every((line) => line.startsWith("{")),
      stderr,
    );
  });
});

suite("F1: lifecycle logs of a resumed run", () => {
  const stop = async (place: ScriptFolder): Promise<void> => {
    const { code } = await runInProcess({
      cwd: place.path,
      parameters: ["run", "Look around", "--model", "script/script.json", "--max-turns", "2"],
    });
    assert.equal(code, 0);
  };
  /** A copy that continues after the first turn: its tool call has to be made again, and starts a child. */
  const copy = ["resume", "last", "--fork", "--at", "1", "--quiet", ...JSON_LINES];

  test("F1: sous resume logs to a file or to stderr, with subagent.persisted", async () => {
    await using place = await scriptFolder(SCRIPT);
    await stop(place);
    const log = join(place.path, "life.log");
    const toFile = await runInProcess({ cwd: place.path, parameters: [...copy, "--log-file", log] });
    assert.equal(toFile.code, 0, toFile.stderr);
    assert.deepEqual(eventsIn(await readFile(log, "utf8")), lifeOf("scout"));
    await stop(place);
    const onStderr = await runInProcess({ cwd: place.path, parameters: [...copy, "--log-level", "info"] });
    assert.equal(onStderr.code, 0, onStderr.stderr);
    assert.deepEqual(eventsIn(onStderr.stderr), lifeOf("scout"));
  });

  test("F1: SOUS_LOG_LEVEL and telemetry_enabled hold for sous resume", async () => {
    await using place = await scriptFolder(SCRIPT);
    const resume = (more: Record<string, string>) =>
      runInProcess({ cwd: place.path, parameters: copy, env: { SOUS_LOG_LEVEL: "info", ...more } });
    await stop(place);
    assert.deepEqual(eventsIn((await resume({})).stderr), lifeOf("scout"));
    await stop(place);
    assert.deepEqual(eventsIn((await resume({ SOUS_AGENT_SUBAGENT_TELEMETRY_ENABLED: "false" })).stderr), []);
  });
});

suite("F1: in a terminal, where a log would draw over the chat, it goes to a file of its own", () => {
  type Home = AsyncDisposable & { cwd: string; env: Record<string, string>; log: string };

  async function openHome(): Promise<Home> {
    const path = await mkdtemp(join(tmpdir(), "sous-log-"));
    const cwd = join(path, "project");
    await mkdir(cwd);
    await writeFile(join(cwd, "script.json"), JSON.stringify(SCRIPT.script));
    const env = {
      HOME: path,
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      XDG_DATA_HOME: join(path, "data"),
      XDG_STATE_HOME: join(path, "state"),
      XDG_CONFIG_HOME: join(path, "config"),
    };
    const log = join(path, "state/sous/sous.log");
    return { cwd, env, log, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
  }

  async function talk(home: Home, parameters: string[], env: Record<string, string> = {}): Promise<string> {
    await using chat = new TerminalInProcess(["chat", "--model", "script/script.json", ...parameters], {
      cwd: home.cwd,
      env: { ...home.env, ...env },
      columns: 200,
    });
    await chat.screen.until("/help");
    chat.type("Look around\r");
    await chat.screen.until("Seen.");
    chat.type("/quit\r");
    assert.equal(await chat.ended, 0);
    return chat.screen.text();
  }

  test("F1: a chat in a terminal logs at a level from the flag or from SOUS_LOG_LEVEL, and one line says where", async () => {
    await using home = await openHome();
    const shown = await talk(home, ["--log-level", "info", ...JSON_LINES]);
    assert.ok(shown.includes(`The log is in ${home.log}`), shown);
    assert.deepEqual(eventsIn(await readFile(home.log, "utf8")), lifeOf("scout"));
    assert.equal(statSync(home.log).mode & 0o777, 0o600);
    assert.equal(statSync(join(home.log, "..")).mode & 0o777, 0o700);
    const again = await talk(home, JSON_LINES, { SOUS_LOG_LEVEL: "info" });
    assert.ok(again.includes(`The log is in ${home.log}`), again);
    assert.deepEqual(eventsIn(await readFile(home.log, "utf8")), [...lifeOf("scout"), ...lifeOf("scout")]);
  });

  test("F1: without a level there is no file; --log-file is the place where it is given", async () => {
    await using home = await openHome();
    assert.ok(!(await talk(home, [])).includes("The log is in"));
    const own = join(home.cwd, "own.log");
    await talk(home, ["--log-file", own, ...JSON_LINES], { SOUS_LOG_LEVEL: "info" });
    assert.deepEqual(eventsIn(await readFile(own, "utf8")), lifeOf("scout"));
    assert.equal(existsSync(home.log), false);
  });

  test("F1: where nothing can be written or nothing may be stored, the chat says so and works", async () => {
    await using home = await openHome();
    const ephemeral = await talk(home, ["--ephemeral", "--log-level", "info"]);
    assert.ok(ephemeral.includes("No log: --ephemeral stores nothing; --log-file FILE writes one"), ephemeral);
    const silenced = await talk(home, [], {
      SOUS_LOG_LEVEL: "info",
      SOUS_AGENT_SUBAGENT_TELEMETRY_ENABLED: "false",
    });
    assert.ok(silenced.includes("No log: agent.subagent.telemetry_enabled is false"), silenced);
    assert.equal(existsSync(home.log), false);
    await mkdir(join(home.log, ".."), { recursive: true });
    await writeFile(join(home.cwd, "elsewhere"), "");
    await symlink(join(home.cwd, "elsewhere"), home.log);
    const linked = await talk(home, ["--log-level", "info"]);
    assert.match(linked, /No log: The log \S+ cannot be written: /);
    assert.equal(await readFile(join(home.cwd, "elsewhere"), "utf8"), "");
  });
});

suite("F1: a log that can no longer be written", () => {
  test("F1: a log that can no longer be written is said once, and the run that is logged ends as it would", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-log-"));
    try {
      // The file is full, and what stands where the full file would go cannot be replaced.
      await mkdir(join(folder, "sous/sous.log.1/inside"), { recursive: true });
      await writeFile(join(folder, "sous/sous.log"), "x".repeat(5 * 1024 * 1024));
      const said: string[] = [];
      const flags = readRunFlags({ "log-level": "info" });
      const place = { file: undefined, env: { XDG_STATE_HOME: folder }, enabled: true };
      const log = await openScreenLog(place, flags, (line) => void said.push(line));
      assert.ok(log !== undefined);
      const model = scriptedModel({
        lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Seen.")],
        "lead/scout": [says("Here.")],
      });
      const { status } = await run(agent({ name: "lead", model, delegate: true }), "Go.", { onEvent: log.onEvent });
      log.settle(true);
      log[Symbol.dispose]();
      log.settle(true);
      assert.equal(status, "completed");
      assert.deepEqual(
        said.map((line) => line.replace(/: [A-Z]+:.*/, "")),
        [`The log is in ${join(folder, "sous/sous.log")}`, "warning: lines are missing in the log"],
      );
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});

suite("F1: a log file with a limit", () => {
  test("F1: a log file with a limit starts over when it is full: with the file before it, it has at most twice the limit", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-log-"));
    try {
      const file = join(folder, "state/sous.log");
      using log = openLogFile(file, { maxBytes: 100 });
      using other = openLogFile(file, { maxBytes: 100 });
      for (let index = 0; index < 50; index++) (index % 2 === 0 ? log : other).write(`line ${index} ${"x".repeat(20)}`);
      const sizes = [statSync(file).size, statSync(`${file}.1`).size];
      assert.ok(
        sizes.every((size) => size <= 100),
        sizes.join(),
      );
      assert.match(await readFile(file, "utf8"), /^line 49 /m);
      assert.equal(existsSync(`${file}.2`), false);
      assert.deepEqual([statSync(file).mode & 0o777, statSync(`${file}.1`).mode & 0o777], [0o600, 0o600]);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});

test("F1: a device is refused as a log, and is not left open", () => {
  const openDescriptors = () => {
    const descriptor = openSync("/dev/null", "r");
    closeSync(descriptor);
    return descriptor;
  };
  const before = openDescriptors();
  assert.throws(() => openLogFile("/dev/null"), {
    name: "CommandError",
    message: "The log /dev/null cannot be written: it is not a file",
  });
  assert.equal(openDescriptors(), before);
});
