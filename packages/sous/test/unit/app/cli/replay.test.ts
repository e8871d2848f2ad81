/** `sous replay` on a real database: what it prints, and what it ends with. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { replay as replayCommand } from "../../../../src/app/cli/commands/replay.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { HOSTILE_LABEL, IDS, keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { dataFolder, type Ended } from "../../../support/app/cli/sous-process.ts";

type Folder = Awaited<ReturnType<typeof dataFolder>>;

let folder: Folder;
before(async () => {
  folder = await dataFolder();
  await using store = await openSqliteStore(folder.file);
  await keepSampleRuns(store);
});
after(() => folder[Symbol.asyncDispose]());

function replay(...parameters: string[]): Promise<Ended> {
  return inProcess(["replay", ...parameters], { env: folder.env });
}

/** Compares everything that was printed with a file. */
function assertPrinted(name: string, { code, stdout, stderr }: Ended): void {
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok(!stdout.includes("\u001b"), "a pipe gets no escape byte");
  assertGolden(name, stdout.trimEnd().split("\n"));
}

suite("sous replay", () => {
  suite("G4: sous replay --list", () => {
    test("--list shows all runs, newest first, with the roots marked", async () => {
      assertPrinted("replay-list.txt", await replay("--list"));
      assertPrinted("replay-list.txt", await replay("-l", "--limit", "5"));
    });

    test("--list shows a page, and says how to see the next one", async () => {
      assertPrinted("replay-list-page.txt", await replay("-l", "--limit", "2", "--offset", "1", "--ascii"));
    });

    test("--list shows what has a status, or started since", async () => {
      const idsIn = ({ stdout }: Ended) => stdout.match(/^\S (\w{26})/gm)?.map((each) => each.slice(2)) ?? [];
      assert.deepEqual(idsIn(await replay("-l", "--status", "interrupted")), [IDS.broken]);
      assert.deepEqual(idsIn(await replay("-l", "--status", "incomplete")), [IDS.reader]);
      assert.deepEqual(idsIn(await replay("-l", "--since", "2026-11-15T12:30Z")), [IDS.broken, IDS.hostile]);
      const { code, stdout, stderr } = await replay("-l", "--status", "refused");
      assert.deepEqual([code, stdout, stderr], [0, "", "No run matches; sous replay --list shows the newest.\n"]);
    });

    test("--list --json is one object for scripts, with everything a run has", async () => {
      const { code, stdout } = await replay("--list", "--json", "--limit", "4", "--offset", "1");
      assert.equal(code, 0);
      const { schema, runs, limit, offset, has_more } = JSON.parse(stdout);
      assert.deepEqual(
        { schema, limit, offset, has_more },
        { schema: "sous.runs.v1", limit: 4, offset: 1, has_more: false },
      );
      assert.deepEqual(
        runs.map(({ id }: { id: string }) => id),
        [IDS.hostile, IDS.reader, IDS.scout, IDS.lead],
      );
      assert.equal(runs[0].label, HOSTILE_LABEL);
      assert.deepEqual(runs[3], {
        id: IDS.lead,
        agent_id: IDS.lead,
        parent_id: null,
        root_id: IDS.lead,
        path: "lead",
        agent: "lead",
        label: "lead",
        depth: 0,
        status: "completed",
        stop_reason: null,
        max_turns_reached: false,
        started_at: "2026-11-15T12:00:00.001Z",
        ended_at: "2026-11-15T12:00:00.024Z",
        duration_ms: 23,
        turns: 2,
        tool_count: 1,
        usage: {
          input_tokens: 2400,
          output_tokens: 120,
          cached_input_tokens: 1000,
          cache_write_tokens: 0,
          total_tokens: 2520,
          estimated: false,
        },
        cost_usd: 0.0912,
        model: "scripted/demo",
        task: "Where do we check permissions?",
        summary_prompt: null,
        allowed_tools: ["read_file", "grep"],
        cwd: null,
        lost: null,
        damage: null,
      });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there.
      assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    });

    test("--list without a database says what makes one, and that is no failure", async () => {
      await using empty = await dataFolder();
      const sentence = `There are no runs yet: no database at ${empty.file}. sous demo makes one.\n`;
      const list = await inProcess(["replay", "--list"], { env: empty.env });
      assert.deepEqual([list.code, list.stdout, list.stderr], [0, "", sentence]);
      const json = await inProcess(["replay", "--list", "--json"], { env: empty.env });
      assert.deepEqual([json.code, JSON.parse(json.stdout).runs, json.stderr], [0, [], sentence]);
      const id = await inProcess(["replay", "--id", IDS.lead], { env: empty.env });
      assert.deepEqual([id.code, id.stdout, id.stderr], [1, "", `error: ${sentence}`]);
    });

    test("--list on a database without runs says what makes one", async () => {
      await using empty = await dataFolder();
      await (await openSqliteStore(empty.file))[Symbol.asyncDispose]();
      const { code, stdout, stderr } = await inProcess(["replay", "--list"], { env: empty.env });
      assert.deepEqual([code, stdout, stderr], [0, "", "There are no runs yet. sous demo makes one.\n"]);
    });
  });

  suite("G4: sous replay --id", () => {
    test("--id shows the task, the numbered messages and what the run was", async () => {
      assertPrinted("replay-id.txt", await replay("--id", IDS.scout));
      assertPrinted("replay-id.txt", await replay("-i", IDS.scout.toLowerCase()));
    });

    test("--id --full does not cut long texts", async () => {
      assertPrinted("replay-id-full.txt", await replay("--id", IDS.scout, "--full"));
    });

    test("--id shows hostile words as words", async () => {
      assertPrinted("replay-id-hostile.txt", await replay("--id", "01K2F9", "--full"));
    });

    test("--id --request shows a request as it was sent", async () => {
      assertPrinted("replay-request-1.txt", await replay("--id", IDS.lead, "--request", "1"));
      assertPrinted("replay-request-2.txt", await replay("--id", IDS.scout, "--request", "2"));
      const { code, stdout, stderr } = await replay("--id", IDS.scout, "--request", "3");
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(stderr, `error: Run ${IDS.scout} made 2 requests; --request 3 is not one of them\n`);
    });

    test("--id --json is one object for scripts", async () => {
      const { code, stdout } = await replay("--id", IDS.reader, "--json");
      assert.equal(code, 0);
      assertGolden("replay-id.json", stdout.trimEnd().split("\n"));
      const request = await replay("--id", IDS.lead, "--request", "2", "--json");
      assertGolden("replay-request.json", request.stdout.trimEnd().split("\n"));
    });
  });

  suite("G4: sous replay --tree", () => {
    test("--tree shows the whole tree of a run, whichever of its runs is named", async () => {
      assertPrinted("replay-tree.txt", await replay("--tree", "--id", IDS.lead));
      assertPrinted("replay-tree.txt", await replay("-ti", IDS.scout));
    });

    test("--tree says how to continue a run that was interrupted", async () => {
      assertPrinted("replay-tree-broken.txt", await replay("--tree", "--id", "last"));
    });

    test("--tree --json is one object for scripts, parents before children", async () => {
      const { stdout } = await replay("--tree", "--id", IDS.reader, "--json");
      const { schema, root_id, runs } = JSON.parse(stdout);
      assert.deepEqual([schema, root_id], ["sous.tree.v1", IDS.lead]);
      assert.deepEqual(
        runs.map(({ id }: { id: string }) => id),
        [IDS.lead, IDS.scout, IDS.reader],
      );
    });
  });

  suite("a typing mistake is told before anything is read", () => {
    const table: [parameters: string[], message: string | RegExp][] = [
      [[], /^sous replay needs --list, or --id ID\.\n\nusage: sous replay --list /],
      [
        [IDS.lead],
        /^sous replay needs --list, or --id ID\. Did you mean sous replay --id "01K2F8Q6ZV0000000000000001"\?/,
      ],
      [["--tree"], /^sous replay needs --list, or --id ID\./],
      [["--list", "--id", IDS.lead], "sous replay does one thing at a time: --list or --id"],
      [["--list", "--tree"], "--tree needs --id ID"],
      [["--id", IDS.lead, "--tree", "--rerun"], "sous replay does one thing at a time: --tree or --rerun"],
      [["--diff", IDS.lead], "--diff takes two ids: sous replay --diff ID ID"],
      [["--list", "--limit", "0"], '--limit must be a whole number of at least 1; found "0"'],
      [["--list", "--status", "fail"], /^--status is one of .*; found "fail"; did you mean failed\?$/],
      [["--list", "--since", "soon"], /^--since takes a time such as 45m, 12h, 7d or 2w, /],
      [["--prune", "everything"], /^--prune takes a time such as 45m, 12h, 7d or 2w, /],
      [["--lits"], "sous replay has no option --lits; did you mean --list? See sous replay --help."],
      [["--list", "more"], 'sous replay does not take "more". See sous replay --help.'],
      [["--export", "pdf", "--id", IDS.lead], '--export is one of md, json, html; found "pdf"'],
    ];
    for (const [parameters, message] of table) {
      test(`sous replay ${parameters.join(" ")} is a mistake that is told first`, async () => {
        const inFolder = ["--db-path", folder.file];
        await assert.rejects(replayCommand([...parameters, ...inFolder]), {
          name: "CommandError",
          exitCode: 2,
          message,
        });
      });
    }
  });

  suite("G4: a request that cannot be carried out is one sentence on stderr and a code", () => {
    const list = "sous replay --list shows all.";
    const table: [parameters: string[], code: number, stderr: string | RegExp][] = [
      [["--tree"], 2, /^error: sous replay needs --list, or --id ID\.\n\nusage: /],
      [["--id", "NOPE"], 1, `error: Unknown run NOPE. Give at least 6 characters of its id. ${list}\n`],
      [["--tree", "--id", "01K2F8ZZZZ"], 1, `error: Unknown run 01K2F8ZZZZ. ${list}\n`],
      [["--id", "01K2F8Q6ZW"], 1, /^error: 01K2F8Q6ZW is the beginning of several ids: /],
    ];
    for (const [parameters, code, stderr] of table) {
      test(`sous replay ${parameters.join(" ")} ends with one sentence and a code`, async () => {
        const ended = await replay(...parameters);
        assert.deepEqual([ended.code, ended.stdout], [code, ""]);
        if (typeof stderr === "string") assert.equal(ended.stderr, stderr);
        else assert.match(ended.stderr, stderr);
      });
    }

    test("with --json a request that cannot be carried out is an object for scripts", async () => {
      const { code, stdout, stderr } = await replay("--id", "01K2F8ZZZZ", "--json");
      assert.equal(code, 1);
      const message = `Unknown run 01K2F8ZZZZ. ${list}`;
      assert.deepEqual(JSON.parse(stdout), { schema: "sous.error.v1", error: { message, exit_code: 1 } });
      assert.equal(stderr, `error: ${message}\n`);
    });
  });
});
