/** The command as a real process: what scripts and people can rely on. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { COMMAND_TABLE } from "../../../../src/app/cli/table/help.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { inOneProcess } from "../../../support/app/cli/one-process.ts";
import { MAIN, PACKAGE, sous } from "../../../support/app/cli/sous-process.ts";
import { CommandInTerminal } from "../../../support/app/cli/terminal-screen.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const SNAPSHOTS = join(import.meta.dirname, "../../../snapshots");

test("--version tells the version and nothing else", async () => {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const said = { code: 0, stdout: `${version}\n`, stderr: "" };
  const { code, stdout, stderr } = await sous(["--version"]);
  assert.deepEqual({ code, stdout, stderr }, said);
  assert.deepEqual(await inOneProcess(["-V"], ["--version"]), [said, said]);
});

test("a Node that is too old is refused in one line, before anything is loaded", async () => {
  for (const [node, isRefused] of [
    ["20.20.2", true],
    ["22.17.9", true],
    ["22.18.0", false],
    ["23.0.0", false],
  ] as const) {
    const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } })`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}` };
    const { code, stdout, stderr } = await sous(["--version"], { env });
    if (!isRefused) assert.deepEqual([code, stderr], [0, ""]);
    else assert.deepEqual([code, stdout, stderr], [1, "", `sous needs Node 22.18 or newer; this is ${node}.\n`]);
  }
});

test("--help is as it was promised, for all commands and for each", async () => {
  const pages: [parameters: string[], snapshot: string][] = [
    [["--help"], "help.txt"],
    [["demo", "--help"], "help-demo.txt"],
    [["replay", "--list", "-h"], "help-replay.txt"],
    [["help", "resume"], "help-resume.txt"],
  ];
  const ended = await inOneProcess(...pages.map(([parameters]) => parameters));
  for (const [index, [, snapshot]] of pages.entries()) {
    const { code, stdout = "", stderr } = ended[index] ?? {};
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assertGolden(snapshot, stdout.trimEnd().split("\n"), SNAPSHOTS);
  }
});

test("output that cannot be written is one sentence and a failure", { skip: !existsSync("/dev/full") }, () => {
  const full = openSync("/dev/full", "w");
  try {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, "--help"], {
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    assert.equal(stderr, "error: the output cannot be written: ENOSPC: no space left on device, write\n");
    assert.equal(status, 1);
  } finally {
    closeSync(full);
  }
});

test("a folder that is gone is said to be so, by every command that needs one", () => {
  const folder = mkdtempSync(join(tmpdir(), "sous-gone-"));
  for (const command of ["run", "doctor"]) {
    const leave = 'rmdir "$0" 2>/dev/null; exec "$@"';
    const given = [folder, process.execPath, MAIN, command, ...(command === "run" ? ["x", "--ephemeral"] : [])];
    mkdirSync(folder, { recursive: true });
    const { status, stderr } = spawnSync("sh", ["-c", leave, ...given], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
    });
    assert.equal(stderr, "error: The folder in which sous was started no longer exists: change to another one\n");
    assert.equal(status, 1);
  }
});

test("a command or option that there is not is a mistake of usage, said in one line", async () => {
  const complaints: [parameters: string[], stderr: string][] = [
    [[], "error: Without a terminal sous needs a command. Try sous run, or sous --help.\n"],
    [["repaly"], 'error: Unknown command "repaly". Try sous replay, or sous --help.\n'],
    [["x\u001b[2J"], 'error: Unknown command "x". Try sous demo, or sous --help.\n'],
    [["help", "repaly"], 'error: Unknown command "repaly". Try sous replay, or sous --help.\n'],
    [["--model", "a/b"], 'error: "--model" comes after a command, such as sous run or sous chat. See sous --help.\n'],
    [["demo", "--color", "pink"], 'error: --color is one of auto, always, never; found "pink"\n'],
    [["demo", "--fast"], "error: sous demo has no option --fast. See sous demo --help.\n"],
    [["demo", "here"], 'error: sous demo does not take "here". See sous demo --help.\n'],
    [
      ["demo", "--ephemeral", "--require-store"],
      "error: --ephemeral stores nothing, and --require-store wants the run stored\n",
    ],
    [["--quiet", "-p", "--fast"], "error: sous run has no option --fast. See sous run --help.\n"],
  ];
  const ended = await inOneProcess(...complaints.map(([parameters]) => parameters));
  assert.deepEqual(
    ended,
    complaints.map(([, stderr]) => ({ code: 2, stdout: "", stderr })),
  );
});

test("every command is found by its name, and hears what follows it", async () => {
  const names = [...COMMAND_TABLE.map(({ name }) => name).filter((name) => name !== "run"), "run"];
  const ended = await inOneProcess(...names.map((name) => [name, "--no-such-option"]));
  for (const [index, name] of names.entries()) {
    const { code, stdout, stderr = "" } = ended[index] ?? {};
    assert.deepEqual([code, stdout], [2, ""], name);
    assert.match(stderr, new RegExp(`^error: .*sous ${name}`));
  }
});

test("a question at a terminal is answered there, and Ctrl-C is a no on a line of its own", async () => {
  await using tree = await temporaryTree({ "project/.git/HEAD": "", "project/AGENTS.md": "Be kind.\n" });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: tree.path, XDG_STATE_HOME: tree.path };
  using command = new CommandInTerminal(["trust"], { cwd: join(tree.path, "project"), env });
  await command.screen.until("Trust it? [y/N]");
  command.type("y\u0003");
  assert.equal(await command.ended, 1);
  assert.match(command.screen.text(), /^Trust it\? \[y\/N\] y\nNot trusted: nothing of it is read\.$/m);
});

suite("sous demo", { concurrency: true }, () => {
  const data = mkdtempSync(join(tmpdir(), "sous-demo-"));
  after(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
  const repository = sous(["demo", "--ephemeral"], { env: { XDG_DATA_HOME: data } });

  test("sous demo ends well and without an escape byte", async (context) => {
    const { code, stdout, stderr, milliseconds } = await repository;
    assert.equal(code, 0);
    context.diagnostic(`sous demo took ${Math.round(milliseconds)} ms; less than 5,000 is meant`);
    assert.ok(!`${stdout}${stderr}`.includes("\u001b"));
  });

  test("sous demo keeps nothing when it is ephemeral, and says nothing about it", async () => {
    const { stderr } = await repository;
    assert.deepEqual(readdirSync(data), []);
    assert.deepEqual(
      stderr.split("\n").filter((line) => !line.startsWith("lead")),
      [""],
    );
  });

  test("sous demo says that its model is scripted", async () => {
    const { stdout } = await repository;
    assert.match(stdout, /^sous demo: .* The model is scripted: no key, no network\.\n/);
    assert.match(stdout, /no real model was asked\.\n$/);
  });

  test("sous demo shows three children with real tools, one of them nested, while they work", async () => {
    const { stderr } = await repository;
    for (const path of ["lead/files", "lead/definitions", "lead/definitions/closest", "lead/reader"]) {
      assert.match(stderr, new RegExp(`^${path}  starts: `, "m"));
    }
    assert.match(stderr, /^lead\/files {2}glob {2}\*\* {2}→ \d+\+? files$/m);
    assert.match(stderr, /^lead\/definitions {2}grep .* → \d+\+? matches$/m);
    assert.match(stderr, /^lead\/definitions\/closest {2}read_file .* → \d+\+? lines$/m);
  });

  test("B3: the depth limit refuses one child with both numbers", async () => {
    const { stdout, stderr } = await repository;
    const sentence = "Maximum subagent recursion depth (2) exceeded. Current depth: 2";
    assert.ok(stderr.includes(`lead/definitions/closest  refused: ${sentence}`));
    assert.ok(stdout.includes(`✗ refused: ${sentence}`));
  });

  test("B6: one child runs out of turns, and its parent knows", async () => {
    const { stdout, stderr } = await repository;
    assert.match(stderr, /^lead\/reader {2}~ out of turns: Read 2 of \d+ files\./m);
    assert.match(
      stdout,
      /^reader: \(the subagent ran out of turns after 3; the result is incomplete\) Read 2 of \d+ files\.$/m,
    );
  });

  test("sous demo ends with a tree of turns, tools, tokens and time", async () => {
    const { stdout } = await repository;
    const figures = String.raw` +\d+ turns? +\d+ tools? +[\d.]+k? tok +[\d.]+s$`;
    for (const start of [
      "lead +✓ completed",
      "├─ files +✓ completed",
      "│  └─ closest +✓ completed",
      "└─ reader +~ out of turns",
    ]) {
      assert.match(stdout, new RegExp(`^${start}${figures}`, "m"));
    }
    assert.match(stdout, /^5 agents · 13 turns · 9 tools · [\d.]+k tok$/m);
  });

  test("sous demo tells the truth about any folder", async () => {
    await using tree = await temporaryTree({
      "one.py": "def first():\n  pass\n\ndef second():\n  pass\n",
      "two.py": "class Third:\n  pass\n",
      "notes.txt": "nothing\n",
    });
    const { code, stdout } = await inProcess(["demo", "--ascii", "--ephemeral"], { cwd: tree.path });
    assert.equal(code, 0);
    const [, answer] = stdout.split("\n\n");
    assert.deepEqual(answer?.split("\n"), [
      "files: 3 files: 2 .py, 1 .txt.",
      "definitions: 3 definitions in 2 files, most in one.py (2). My child says: one.py has 5 lines. I wanted a child of my own and was told: Maximum subagent recursion depth (2) exceeded. Current depth: 2.",
      "reader: (the subagent ran out of turns after 3; the result is incomplete) Read 2 of 3 files.",
    ]);
  });

  test("sous demo works in an empty folder and without a home, and has colour in a pipe when it is asked for", async () => {
    await using tree = await temporaryTree();
    const { code, stdout, stderr } = await inProcess(["demo", "--color", "always"], { cwd: tree.path });
    assert.equal(code, 0);
    assert.ok(stdout.includes("\u001b[32m"));
    assert.match(stdout, /^files: No files\.\ndefinitions: No definitions\. .*\nreader: .* Read 0 of 0 files\.$/m);
    const sentence = "HOME is not set, so the folder for runs is not known: set XDG_DATA_HOME, or give --db-path FILE";
    assert.equal(stderr.split("\n")[0], `warning: the run is not stored: ${sentence}`);
  });

  test("an interrupt stops the tree, and what there is is still shown", async () => {
    await using tree = await temporaryTree({ "one.py": "def first():\n  pass\n" });
    const ended = await inProcess(["demo", "--ephemeral"], {
      cwd: tree.path,
      signalAt: { text: "lead/reader  starts", signal: "SIGINT" },
    });
    assert.equal(ended.code, 130);
    assert.match(ended.stdout, /^lead +- cancelled /m);
    assert.match(ended.stderr, /^error: The run was cancelled$/m);
  });
});
