/** `sous resume`: a tree whose process was killed goes on, once, and nothing of it is done twice. */

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { after, before, suite, test } from "node:test";
import { resume } from "../../../../src/app/cli/commands/resume.ts";
import { exitCodeFor } from "../../../../src/app/cli/report-error.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import type { RunStart } from "../../../../src/core/run-start.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { IDS, keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { killRunsAt } from "../../../support/app/cli/killed-runs.ts";
import { dataFolder, type Ended, sous } from "../../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const FILES = { "one.py": "def first():\n  pass\n\ndef second():\n  pass\n", "notes.txt": "nothing\n" };

const ANSWER = [
  "files: 2 files: 1 .txt, 1 .py.",
  "definitions: 2 definitions in 1 file, most in one.py (2). My child says: one.py has 5 lines. I wanted a child of my own and was told: Maximum subagent recursion depth (2) exceeded. Current depth: 2.",
  "reader: (the subagent ran out of turns after 3; the result is incomplete) Read 2 of 2 files.",
  "",
].join("\n");

/** Turns and tool calls of every agent, when all goes well. */
const WHOLE = [
  ["lead", "completed", 2, 1],
  ["lead/definitions", "completed", 3, 2],
  ["lead/definitions/closest", "completed", 3, 2],
  ["lead/files", "completed", 2, 1],
  ["lead/reader", "incomplete", 3, 3],
];

const OWN_LIMITS = (option: string) =>
  `sous resume has no option ${option}: a run that continues has its own limits. --add-budget USD raises its money, --add-tokens N its tokens.`;
const FOREIGN_TOOLS = "01K2H0AAAA0000000000000006";
const NO_KEY = "01K2H0BBBB0000000000000007";

type Stage = AsyncDisposable & {
  /** The database. */
  file: string;
  run(...parameters: string[]): Promise<Ended>;
  /** In a process of its own. */
  asProcess(...parameters: string[]): Promise<Ended>;
  /** Stops the demo with an interrupt when this is seen. */
  interruptDemo(text: string): Promise<Ended>;
  /** Starts the demo in a process, and kills that when this is seen. */
  killDemo(text: string): Promise<void>;
  /** The id of the newest root, and what became of every run of its tree. */
  tree(): Promise<{ id: string; runs: (readonly [path: string, status: string, turns: number, toolCount: number])[] }>;
};

async function openStage(): Promise<Stage> {
  const folder = await dataFolder();
  const work = await temporaryTree(FILES);
  const options = { cwd: work.path, env: folder.env };
  return {
    file: folder.file,
    run: (...parameters) => inProcess(parameters, options),
    asProcess: (...parameters) => sous(parameters, options),
    interruptDemo: (text) => inProcess(["demo"], { ...options, signalAt: { text, signal: "SIGINT" } }),
    async killDemo(text) {
      const killed = await sous(["demo"], { ...options, signalAt: { text, signal: "SIGKILL" } });
      assert.equal(killed.code, null);
    },
    async tree() {
      await using store = await openSqliteStore(folder.file, { readOnly: true });
      const [newest] = await store.list({ rootsOnly: true, limit: 1 });
      const records = await store.tree(newest?.rootId ?? "");
      const runs = records.map(({ path, status, turns, toolCount }) => [path, status, turns, toolCount] as const);
      return { id: newest?.rootId ?? "", runs: runs.sort(([one], [other]) => (one < other ? -1 : 1)) };
    },
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await work[Symbol.asyncDispose]();
    },
  };
}

suite("sous resume on a real database", () => {
  suite("G5: after kill -9 sous resume finishes the tree without doing anything twice", { concurrency: true }, () => {
    for (const moment of ["lead  starts", "lead/definitions/closest  starts", "lead/definitions  ✓ completed"]) {
      test(`sous resume finishes a tree that died at "${moment}" without doing anything twice`, async () => {
        await using stage = await openStage();
        await stage.killDemo(moment);
        const { id, runs } = await stage.tree();
        assert.deepEqual(runs[0]?.slice(0, 2), ["lead", "interrupted"]);
        const { code, stdout, stderr } = await stage.run("resume");
        assert.deepEqual([code, stdout], [0, ANSWER], stderr);
        assert.deepEqual(await stage.tree(), { id, runs: WHOLE });
      });
    }
  });

  suite("sous resume", { concurrency: true }, () => {
    test("sous resume continues a run that was stopped, asks again only agents that were stopped with it, and then it has completed", async () => {
      await using stage = await openStage();
      const stopped = await stage.interruptDemo("lead/files  ✓ completed");
      assert.equal(stopped.code, 130);
      const { code, stdout, stderr } = await stage.run("resume", "--last");
      assert.deepEqual([code, stdout], [0, ANSWER], stderr);
      assert.match(stderr, /^lead\/reader#2 {2}starts: /m);
      assert.doesNotMatch(stderr, /^lead\/files/m);
      const { id } = await stage.tree();
      const again = await stage.run("resume", id);
      const { id: last } = await stage.tree();
      const sentence = new RegExp(
        `^error: Run ${id} has completed\\. Give it a message to continue with, or fork it: sous resume \\w+ --fork\\n$`,
      );
      assert.deepEqual([again.code, again.stdout, last], [1, "", id]);
      assert.match(again.stderr, sentence);
    });

    test("two processes cannot continue one run: one does, the other says that it cannot", async () => {
      await using stage = await openStage();
      await stage.killDemo("lead/reader  starts");
      const { id } = await stage.tree();
      const both = await Promise.all([stage.asProcess("resume", id), stage.asProcess("resume", id)]);
      const [winner, loser] = both.sort((one, other) => (one.code ?? 0) - (other.code ?? 0));
      assert.deepEqual([winner?.code, winner?.stdout], [0, ANSWER]);
      assert.deepEqual([loser?.code, loser?.stdout], [1, ""]);
      assert.match(loser?.stderr ?? "", new RegExp(`^error: Run ${id} is at work in process \\d+.*\\n$`));
      assert.deepEqual(await stage.tree(), { id, runs: WHOLE });
    });

    test("sous resume says why the answer is not complete, with --quiet too", async () => {
      await using stage = await openStage();
      assert.equal((await stage.run("demo")).code, 0);
      await killRunsAt(stage.file, ({ path, type }) => path === "lead/reader" && type === "run-start");
      const { code, stderr } = await stage.run("resume", "--max-turns", "1", "--quiet");
      const sentence = "warning: the run is out of turns, so its answer is not complete: --max-turns allows more\n";
      assert.deepEqual([code, stderr], [6, sentence]);
    });

    test("sous resume leaves a completed run alone, and continues from one of its turns in a copy", async () => {
      await using stage = await openStage();
      const demo = await stage.run("demo");
      assert.equal(demo.code, 0);
      const { id } = await stage.tree();
      assert.match(demo.stderr, new RegExp(`^The run is stored: sous replay --tree --id ${id}$`, "m"));
      const modes = [stage.file, dirname(stage.file)].map((path) => (statSync(path).mode & 0o777).toString(8));
      assert.deepEqual(modes, ["600", "700"], "only its owner can read it");
      const again = await stage.run("resume", id);
      const hint = `Run ${id} has completed. Give it a message to continue with, or fork it: sous resume ${id} --fork`;
      assert.deepEqual([again.code, again.stdout, again.stderr], [1, "", `error: ${hint}\n`]);
      const fork = await stage.run("resume", id, "--fork", "--at", "1", "--json");
      assert.equal(fork.code, 0, fork.stderr);
      const result = JSON.parse(fork.stdout);
      assert.deepEqual(
        [result.schema, result.status, result.result],
        ["sous.result.v1", "completed", ANSWER.trimEnd()],
      );
      assert.deepEqual(Object.keys(result), [
        "schema",
        "status",
        "result",
        "output",
        "stop_reason",
        "run_id",
        "turns",
        "usage",
        "cost_usd",
        "duration_ms",
        "agents",
        "denied",
        "questions",
        "error",
        "lost",
      ]);
      const tree = await stage.tree();
      assert.deepEqual([tree.id, tree.runs], [result.run_id, [["lead", "completed", 1, 0]]]);
      const shown = await stage.run("replay", "--id", "last");
      assert.match(shown.stdout, new RegExp(`^  begins   behind turn 1 of run ${id}$`, "m"));
      const { origin } = JSON.parse((await stage.run("replay", "--id", "last", "--json")).stdout).run;
      assert.deepEqual(origin, { kind: "branch", run_id: id, messages: 3, turn: 1 });
    });
  });

  suite("sous resume says in one sentence why it does not", () => {
    let folder: Awaited<ReturnType<typeof dataFolder>>;
    before(async () => {
      folder = await dataFolder();
      await using store = await openSqliteStore(folder.file);
      await keepSampleRuns(store);
      const rights = { use: ["grep", "deploy"], delegate: ["pay"], deny: [], spawn: false };
      for (const tree of [broken(FOREIGN_TOOLS, { rights }), broken(NO_KEY, { model: "anthropic/claude-haiku-4-5" })])
        await store.append(tree.rootId, tree.events, NO_OWNER);
    });
    after(() => folder[Symbol.asyncDispose]());

    const table: [parameters: string[], code: number, message: string | RegExp][] = [
      [["--at", "1"], 2, "--at requires --fork: without it a run continues from its last turn"],
      [["--budget", "1"], 2, OWN_LIMITS("--budget")],
      [["--budget=1"], 2, OWN_LIMITS("--budget")],
      [["last", "--max-tokens-total", "1"], 2, OWN_LIMITS("--max-tokens-total")],
      [["--add-tokens", "much"], 2, '--add-tokens must be a whole number of at least 1; found "much"'],
      [["--add-budget", "0"], 2, /^--add-budget is an amount of US dollars greater than 0, .*$/],
      [["--last", IDS.lead], 2, `sous resume does not take "${IDS.lead}". See sous resume --help.`],
      [["NOPE"], 1, /^Unknown run NOPE\. .*$/],
      [
        [IDS.scout],
        1,
        new RegExp(
          `^Run ${IDS.scout} is a child: a tree is continued as a whole, so name its root, ${IDS.lead}: sous resume ${IDS.lead} --db-path .*$`,
        ),
      ],
      [
        [IDS.broken, "--add-tokens", "500"],
        1,
        `Run ${IDS.broken} has no limit of tokens that --add-tokens could raise`,
      ],
      [[IDS.broken, "--add-budget", "1"], 1, `Run ${IDS.broken} has no limit of money that --add-budget could raise`],
      [[IDS.broken], 1, /^No model provider is called "scripted" \(known providers: .*$/],
      [
        [FOREIGN_TOOLS],
        1,
        /^This run had tools that the command line does not have: deploy, pay\. Continue it in code: .*$/,
      ],
      [[IDS.lead, "--fork"], 1, /^This run had agents that are not here now: scout, reader\. .*$/],
    ];
    for (const [parameters, code, message] of table) {
      test(`sous resume ${parameters.join(" ")} says why it does not continue`, async () => {
        const error: unknown = await resume([...parameters, "--db-path", folder.file]).catch(
          (thrown: unknown) => thrown,
        );
        assert.deepEqual([exitCodeFor(error), messageOf(error).replace(message, "")], [code, ""]);
      });
    }

    test("a missing key ends sous resume with a code of its own", async () => {
      const { code, stdout, stderr } = await inProcess(["resume", NO_KEY], { env: folder.env });
      assert.deepEqual([code, stdout], [4, ""]);
      assert.match(stderr, /^error: The model anthropic\/claude-haiku-4-5 needs a key: set ANTHROPIC_API_KEY.*\n$/m);
    });
  });
});

/** A run that has begun and not ended. */
function broken(id: string, details: Partial<RunStart>): SampleTree {
  const tree = sampleTree(id, Date.UTC(2026, 10, 17));
  tree.start(id, { label: "lead", details });
  return tree;
}
