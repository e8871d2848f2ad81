/** All commands use one database, wherever it was chosen, so that one finds what another has stored. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { COMMAND_TABLE } from "../../../../src/app/cli/table/help.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { sourceFiles } from "../../../support/source-files.ts";
import { type FolderStage, openFolders } from "./folder-stage.ts";

const MINE = "01K2H0AAAA0000000000000001";
const OTHER = "01K2H0BBBB0000000000000002";

/** What was chosen, and the words that choose it. */
const CHOICES: Record<string, (stage: FolderStage) => { env?: Record<string, string>; options?: string }> = {
  "in the user's file": (stage) => {
    stage.write("config/sous/config.yaml", "agent:\n  subagent:\n    persistence_path: ~/mine/runs.db\n");
    return {};
  },
  "in a file that --config names": (stage) => {
    stage.write("mine/config.yaml", `agent: { subagent: { persistence_path: "${stage.path("mine/runs.db")}" } }\n`);
    return { options: "--config ../mine/config.yaml" };
  },
  "by a variable": (stage) => ({ env: { SOUS_AGENT_SUBAGENT_PERSISTENCE_PATH: stage.path("mine/runs.db") } }),
  "by its short variable": (stage) => {
    stage.write("config/sous/config.yaml", "agent: { subagent: { persistence_path: ~/data/unused.db } }\n");
    return { env: { SOUS_DB_PATH: stage.path("mine/runs.db") } };
  },
  "by the flag": (stage) => {
    stage.write("config/sous/config.yaml", "agent: { subagent: { persistence_path: ~/data/unused.db } }\n");
    return { options: "--db-path ../mine/runs.db", env: { SOUS_DB_PATH: stage.path("data/unused.db") } };
  },
};

/** How each command with a database shows which one it uses: by what it prints, or by a run that it adds. */
const SHOWN: Record<string, { line: string; input?: string; prints?: RegExp }> = {
  chat: { line: "sous chat --model script/answers.json", input: "Hello.\n" },
  run: { line: "sous run Hello. --model script/answers.json" },
  demo: { line: "sous demo" },
  replay: { line: "sous replay --list --json", prints: new RegExp(`"id": "${MINE}"`) },
  stats: { line: "sous stats --json", prints: new RegExp(`"agent": "spender-${MINE}"`) },
  resume: { line: `sous resume ${MINE}`, prints: /No model provider is called "scripted"/ },
  cancel: { line: `sous cancel ${MINE}`, prints: new RegExp(`Run ${MINE} is not at work: interrupted`) },
  doctor: { line: "sous doctor --json", prints: /"found": "[^"]*mine\/runs\.db/ },
};

/** They answer others until they are stopped: `acp-serve.test.ts`, `mcp-serve.test.ts`, `metrics.test.ts` and `worker.test.ts` try them. */
const ASKED = ["acp", "mcp", "metrics", "worker"];

test("every command that has a database is tried here, and takes the options that choose it", () => {
  const optionsOf = ({ groups }: (typeof COMMAND_TABLE)[number]) =>
    groups.flatMap(({ options }) => options.map(({ name }) => name));
  const withDatabase = COMMAND_TABLE.filter((entry) => optionsOf(entry).includes("db-path"));
  assert.deepEqual(withDatabase.map(({ name }) => name).sort(), [...Object.keys(SHOWN), ...ASKED].sort());
  for (const entry of withDatabase) assert.ok(optionsOf(entry).includes("config"), `sous ${entry.name} --config`);
});

test("a database is opened only where the one rule has chosen its file", () => {
  const openers = (word: RegExp) =>
    sourceFiles()
      .filter(({ path, text }) => path.startsWith("app/cli/") && word.test(text))
      .map(({ path }) => path)
      .sort();
  assert.deepEqual(openers(/\bdatabaseFile\(/), [
    "app/cli/application/guards.ts",
    "app/cli/commands/doctor.ts",
    "app/cli/files/paths.ts",
    "app/cli/stored/database.ts",
  ]);
  assert.deepEqual(openers(/\bfindDatabase\(/), [
    "app/cli/commands/cancel.ts",
    "app/cli/commands/chat.ts",
    "app/cli/commands/metrics.ts",
    "app/cli/commands/replay.ts",
    "app/cli/commands/resume.ts",
    "app/cli/commands/stats.ts",
    "app/cli/commands/worker.ts",
    "app/cli/run/detach.ts",
    "app/cli/stored/database.ts",
  ]);
  assert.deepEqual(openers(/\bopenForRun\(/), [
    "app/cli/application/machine.ts",
    "app/cli/commands/demo.ts",
    "app/cli/serve/over-stdio.ts",
    "app/cli/stored/database.ts",
  ]);
});

suite("the database is chosen", () => {
  for (const [how, choose] of Object.entries(CHOICES)) {
    const commands = how === "in the user's file" ? Object.keys(SHOWN) : ["run", "replay", "stats", "resume", "doctor"];
    test(`the database of ${commands.join(", ")} is chosen ${how}`, async () => {
      using stage = openFolders("shop", "mine");
      stage.write("shop/answers.json", JSON.stringify({ sous: [{ text: "Yes." }] }));
      stage.write("shop/notes.txt", "nothing\n");
      await keep(stage.path("mine/runs.db"), MINE);
      await keep(stage.path("data/sous/sous.db"), OTHER);
      const { env = {}, options = "" } = choose(stage);
      let added = 0;
      for (const [name, { line, input = "", prints }] of Object.entries(SHOWN)) {
        if (!commands.includes(name)) continue;
        const ended = await stage.type(`${line} ${options}`, { in: "shop", env, input });
        if (prints !== undefined) assert.match(ended.stdout + ended.stderr, prints, line);
        else {
          added += 1;
          assert.equal(ended.code, 0, ended.stderr);
          assert.equal((await rootsIn(stage.path("mine/runs.db"))).length, 1 + added, line);
        }
      }
      assert.deepEqual(await rootsIn(stage.path("data/sous/sous.db")), [OTHER], "and nothing came into another one");
    });
  }
});

/** A database with one run that was interrupted, and one that was deleted and stays in the totals. */
async function keep(file: string, id: string): Promise<void> {
  await using store = await openSqliteStore(file);
  const deleted = sampleTree("deleted");
  deleted.start("deleted", { label: `spender-${id}` });
  deleted.end("deleted");
  await store.append("deleted", deleted.events);
  await store.delete("deleted");
  const tree = sampleTree(id, Date.UTC(2026, 10, 17));
  tree.start(id, { label: "lead" });
  await store.append(id, tree.events, NO_OWNER);
}

async function rootsIn(file: string): Promise<string[]> {
  await using store = await openSqliteStore(file, { readOnly: true });
  return (await store.list({ rootsOnly: true })).map(({ id }) => id);
}
