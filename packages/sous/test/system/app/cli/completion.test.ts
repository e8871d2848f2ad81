/** Completion, asked of a real bash. What zsh and fish are given is kept as it was when it was tried in them. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { promisify } from "node:util";
import { COMPLETION_SCRIPTS, completion } from "../../../../src/app/cli/commands/completion.ts";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { runJson } from "../../../../src/app/cli/stored/run-json.ts";
import type { CommandEntry } from "../../../../src/app/cli/table/entry.ts";
import { COMMAND_TABLE } from "../../../../src/app/cli/table/help.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";

const SNAPSHOTS = join(import.meta.dirname, "../../../snapshots");
const folder = mkdtempSync(join(tmpdir(), "sous-completion-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const marker = join(folder, "marker");
/** An agent file can be called anything. */
const hostile = `$(touch ${marker})`;

const runIds = await fakeSous();
writeFileSync(join(folder, "notes.json"), "{}");

/** What bash would offer for each of these lines, the last word being the unfinished one. All in one process. */
async function offeredFor(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const asks = lines.map((words) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _sous; echo "\${COMPREPLY[*]}"`;
  });
  const script = `set -u\n${COMPLETION_SCRIPTS.bash(COMMAND_TABLE)}\n${asks.join("\n")}\n`;
  const env = { PATH: `${folder}:${process.env.PATH ?? ""}` };
  const { stdout, stderr } = await promisify(execFile)("bash", ["--norc", "-c", script], { env, cwd: folder });
  assert.equal(stderr, "");
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ").filter((word) => word !== ""));
}

test("bash offers commands, options, the words they take, files, stored runs and agents", async () => {
  const cases: [line: string[], offered: string[]][] = [
    [
      ["sous", "re"],
      ["replay", "resume"],
    ],
    [
      ["sous", "run", "--out"],
      ["--output-format", "--output-schema"],
    ],
    [
      ["sous", "-p", "--out"],
      ["--output-format", "--output-schema"],
    ],
    [["sous", "run", "--output-format", "s"], ["stream-json"]],
    [["sous", "demo", "--color", "=", "al"], ["always"]],
    [
      ["sous", "demo", "--color", "="],
      ["auto", "always", "never"],
    ],
    [["sous", "replay", "--import", "n"], ["notes.json"]],
    [
      ["sous", "replay", "--id", ""],
      ["last", ...runIds],
    ],
    [["sous", "replay", "-i", "la"], ["last"]],
    [["sous", "resume", "--f"], ["--fork"]],
    [["sous", "agents", "s"], ["show"]],
    [["sous", "agents", "show", ""], ["scout"]],
    [
      ["sous", "completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["sous", "replay", "--limit", ""], []],
    [["sous", "nonsense", ""], []],
  ];
  const offered = await offeredFor(cases.map(([line]) => line));
  assert.deepEqual(
    cases.map(([line], index) => [line, offered[index] ?? []]),
    cases,
  );
});

test("B4.1: a name that is a command for a shell is not offered and not run", async () => {
  const [offered] = await offeredFor([["sous", "agents", "show", ""]]);
  assert.deepEqual(offered, ["scout"]);
  assert.equal(existsSync(marker), false);
});

suite("the commands and options of a script", () => {
  for (const [shell, script, spelled] of [
    ["bash", COMPLETION_SCRIPTS.bash(COMMAND_TABLE), (name: string) => `--${name}`],
    ["zsh", COMPLETION_SCRIPTS.zsh(COMMAND_TABLE), (name: string) => `--${name}`],
    ["fish", COMPLETION_SCRIPTS.fish(COMMAND_TABLE), (name: string) => `-l ${name} `],
  ] as const) {
    test(`the script of ${shell} has every command and every option of the table`, (context) => {
      const missing = COMMAND_TABLE.flatMap(({ name, groups }) => [
        ...(script.includes(name) ? [] : [name]),
        ...groups.flatMap(({ options }) => options.filter((option) => !script.includes(spelled(option.name)))),
      ]);
      assert.deepEqual(missing, []);
      const checked = spawnSync(shell, ["-n"], { input: script, encoding: "utf8" });
      if (checked.error === undefined) assert.deepEqual([checked.status, checked.stderr], [0, ""]);
      else context.diagnostic(`${shell} is not here`);
    });
  }
});

test("scripts are written as they were when they were tried in their shells; UPDATE_SNAPSHOTS=1 after trying again", () => {
  for (const [shell, script] of Object.entries(COMPLETION_SCRIPTS))
    assertGolden(`completion.${shell}`, script(SAMPLE).trimEnd().split("\n"), SNAPSHOTS);
});

/** Everything that a description can have, so that a new option of a command is no new script. */
const SAMPLE: readonly CommandEntry[] = [
  {
    name: "look",
    about: "look at one thing: don't touch [it]",
    text: [],
    usage: ["look WHAT"],
    examples: [],
    words: [
      { name: "near", about: "what is near", offers: "agent" },
      { name: "far", about: "what is far" },
    ],
    groups: [
      {
        title: "options",
        options: [
          { name: "file", short: "f", value: "FILE", about: "a file: this one" },
          { name: "colour", value: "FORMAT", words: ["red", "green"], about: "don't [look]" },
          { name: "count", value: "N", about: "at most N" },
          { name: "help", short: "h", about: "this text" },
        ],
      },
    ],
  },
  {
    name: "again",
    about: "the same once more",
    text: [],
    usage: ["again ID"],
    examples: [],
    offers: "run",
    groups: [{ title: "options", options: [{ name: "id", value: "ID", about: "this one" }] }],
  },
];

test("the name of a shell is needed, and one of three", async () => {
  for (const parameters of [[], ["tcsh"], ["bash", "zsh"]]) {
    await assert.rejects(completion(parameters), (error) => error instanceof CommandError && error.exitCode === 2);
  }
});

test("completion prints the script of the shell that was named, and nothing else", async () => {
  for (const [shell, script] of Object.entries(COMPLETION_SCRIPTS)) {
    const { code, stdout, stderr } = await inProcess(["completion", shell]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout, script(COMMAND_TABLE));
  }
});

/** A command that answers as the real one does, at once. Returns the ids it knows. */
async function fakeSous(): Promise<string[]> {
  const store = openMemoryStore();
  await keepSampleRuns(store);
  const runs = (await store.list()).map(runJson);
  const agents = [{ name: "scout" }, { name: hostile }];
  for (const [name, value] of Object.entries({ replay: { runs }, agents: { agents } }))
    writeFileSync(join(folder, `${name}.txt`), JSON.stringify(value, undefined, 2));
  writeFileSync(join(folder, "sous"), `#!/bin/sh\ncat '${folder}'/"$1".txt\n`);
  chmodSync(join(folder, "sous"), 0o755);
  return runs.map(({ id }) => String(id));
}
