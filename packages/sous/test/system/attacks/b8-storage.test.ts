/** B8: links, pipes and made-up files in the place of everything that is kept. Judged by what the file behind a link holds. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { openHistory } from "../../../src/app/cli/chat/prompt-line.ts";
import { replay } from "../../../src/app/cli/commands/replay.ts";
import { openRunLog } from "../../../src/app/cli/run/log.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { type Command, openCommand, saying } from "../../support/attacks/whole-command.ts";

const HELLO = { sous: [saying("Hello.")] };
const VICTIM = "mine\n";

type Writer = { what: string; file: string; write(command: Command, file: string): Promise<unknown> };

const database = (command: Command): string => join(command.path, "kept", "runs.db");

async function keepRun(command: Command): Promise<string> {
  const { result } = await command.run(HELLO, { "db-path": database(command) });
  return result.runId;
}

/** Everything the command line writes, and how it comes to be written. */
const WRITERS: readonly Writer[] = [
  { what: "the database", file: "kept/runs.db", write: keepRun },
  { what: "the log of the database", file: "kept/runs.db-wal", write: keepRun },
  { what: "the index of that log", file: "kept/runs.db-shm", write: keepRun },
  { what: "the journal of the database", file: "kept/runs.db-journal", write: keepRun },
  { what: "what is trusted", file: "home/.local/state/sous/trust.json", write: (command) => command.trust() },
  {
    what: "the history of a chat",
    file: "home/.local/state/sous/history",
    write: async (_command, file) => (await openHistory(file)).add("a line"),
  },
  {
    what: "the log of a run",
    file: "run.log",
    write: async (_command, file) => {
      const { log: flags } = readRunFlags({});
      using _log = await openRunLog({ flags, file, env: {}, enabled: true });
    },
  },
  ...["md", "json", "html"].flatMap((format) =>
    [[], ["--force"]].map((force) => ({
      what: `a run as ${format}${force.length === 0 ? "" : ", with --force"}`,
      file: `run.${format}`,
      write: async (command: Command, file: string) => {
        const given = ["--id", await keepRun(command), "--export", format, "--output", file, ...force];
        await replay([...given, "--db-path", database(command)]);
      },
    })),
  ),
  {
    what: "a cassette",
    file: "run.cassette.json",
    write: async (command, file) => {
      await replay(["--id", await keepRun(command), "--save-cassette", file, "--db-path", database(command)]);
    },
  },
  {
    what: "the draft of a cassette, by a name that can be foretold",
    file: `run.cassette.json.${process.pid}.draft`,
    write: async (command) => {
      const file = join(command.path, "run.cassette.json");
      await replay(["--id", await keepRun(command), "--save-cassette", file, "--db-path", database(command)]);
    },
  },
  {
    what: "a copy of the database",
    file: "copy.db",
    write: async (command, file) => {
      await keepRun(command);
      await replay(["--backup", file, "--db-path", database(command)]);
    },
  },
];

/** These come and go with the database; a cassette lies beside the tests that play it, for everybody. */
const NOT_PRIVATE = /-(wal|shm|journal)$|cassette|draft/;

suite("B8.1: a link in the place of a file", () => {
  for (const { what, file, write } of WRITERS) {
    test(`B8.1: a link in the place of ${what} is not followed`, async () => {
      await using command = await openCommand({ victim: VICTIM, "repository/AGENTS.md": "x" });
      const place = join(command.path, file);
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
      symlinkSync(join(command.path, "victim"), place);
      // Refused or replaced: what counts is the file behind the link.
      await write(command, place).catch(() => {});
      assert.equal(readFileSync(join(command.path, "victim"), "utf8"), VICTIM);
    });

    test(`B8.1: a link to nothing in the place of ${what} is not followed`, async () => {
      await using command = await openCommand({ "repository/AGENTS.md": "x" });
      const place = join(command.path, file);
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
      symlinkSync(join(command.path, "victim"), place);
      await write(command, place).catch(() => {});
      assert.equal(existsSync(join(command.path, "victim")), false);
    });
  }

  for (const { what, file, write } of WRITERS.filter(({ file }) => !NOT_PRIVATE.test(file))) {
    test(`B8.1: ${what} can be written without a link, and read by its owner alone`, async () => {
      await using command = await openCommand({ "repository/AGENTS.md": "x" });
      const place = join(command.path, file);
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
      const before = process.umask(0);
      try {
        await write(command, place);
      } finally {
        process.umask(before);
      }
      assert.equal(lstatSync(place).mode & 0o077, 0);
    });
  }
});

suite("B8.2: a file that is none of ours", () => {
  const kinds: [what: string, make: (file: string) => void][] = [
    ["a pipe that nobody writes into", (file) => void execFileSync("mkfifo", [file])],
    ["a folder", (file) => void mkdirSync(file)],
    ["random bytes", (file) => writeFileSync(file, Buffer.alloc(8192, 0xa5))],
    ["the head of a database and nothing behind it", (file) => writeFileSync(file, "SQLite format 3\0")],
    ["a text with terminal codes", (file) => writeFileSync(file, "\u001b]0;x\u0007{".repeat(100))],
    ["brackets without end", (file) => writeFileSync(file, "[".repeat(1_000_000))],
    ["a device that never ends", (file) => symlinkSync("/dev/zero", file)],
  ];
  const readers: [how: string, parameters: (file: string) => string[]][] = [
    ["as a database", (file) => ["--list", "--db-path", file]],
    ["to be imported", (file) => ["--import", file, "--db-path", `${file}.new`]],
  ];
  for (const [what, make] of kinds) {
    for (const [how, parameters] of readers) {
      test(`B8.2: ${what}, ${how}, is refused in one line`, async () => {
        await using command = await openCommand();
        const file = join(command.path, "foreign");
        make(file);
        await assert.rejects(replay(parameters(file)), ({ message }: Error) => {
          assert.doesNotMatch(message, /[\p{Cc}]/u);
          return true;
        });
      });
    }
  }

  test("B8.2: a pipe in the place of a script or of the history is not waited for", async () => {
    await using command = await openCommand();
    const pipe = join(command.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    await assert.rejects(command.run(HELLO, { model: `script/${pipe}` }), /it is not a file/);
    const history = await openHistory(pipe);
    await history.add("a line");
    assert.deepEqual(history.entries, []);
  });
});
