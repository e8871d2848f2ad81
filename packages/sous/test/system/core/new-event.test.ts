/** An event is described once: a new stored event changes five source files, and is redacted, stored, compared and shown. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { StoredEvent } from "../../../src/core/event.ts";
import { MADE_UP_KEYS } from "../../support/runtime/secrets/made-up-keys.ts";
import { packageFolder, rootFolder, sourceFolder } from "../../support/source-files.ts";

type Change = readonly [place: string, replacement: string];

/** Everything that adding a stored event changes in the sources. */
const NEW_EVENT: Readonly<Record<string, readonly Change[]>> = {
  "core/event.ts": [
    [
      "  /** A run is over: exactly one per run",
      '  /** Someone liked an answer. */\n  | { type: "applause"; turn: number; words: string; from?: string | undefined }\n$&',
    ],
  ],
  "core/words/events.ts": [
    [
      '  "run-end": {\n',
      `  applause: {
    fields: { turn: "count", words: "text", from: "id?" },
    noun: ({ turn }) => \`the applause for turn \${turn}\`,
    line: ({ words }, plain) => \`is applauded: \${plain(words, 20)}\`,
  },\n$&`,
    ],
    ["EventStep>> = {};", "EventStep>> = { 2: (event) => event };"],
  ],
  "core/run-state.ts": [['      case "truncation":\n', '$&      case "applause":\n']],
  "testing/checker.ts": [['      case "truncation":\n', '$&      case "applause":\n']],
  "runtime/loop/run-turn.ts": [
    ["  recordActivity(message, run);\n", '$&  run.emit({ type: "applause", turn: run.turns, words: run.text });\n'],
  ],
};

const folder = mkdtempSync(join(tmpdir(), "sous-new-event-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
before(changeSources);

test("a new stored event changes at most five source files", () => {
  assert.ok(Object.keys(NEW_EVENT).length <= 5);
});

test("the compiler misses nothing when a stored event is added in these files", async () => {
  const compiler = join(rootFolder, "node_modules/.bin/tsc");
  const errors = await new Promise<string>((resolve) => {
    // So few files are checked in less time by one thread, and without collecting garbage.
    const options = { cwd: folder, env: { ...process.env, GOGC: "off" } };
    execFile(compiler, ["--pretty", "false", "--singleThreaded"], options, (_error, stdout) => resolve(stdout));
  });
  assert.equal(errors, "");
});

test("a new stored event is redacted, stored, read back, compared and shown", async () => {
  const [, key = ""] = MADE_UP_KEYS.find(([name]) => name === "GitHub token") ?? [];
  const [{ createRuntime }, { agent }, { scriptedModel }, { says }] = await load(
    ...["runtime.ts", "core/agent.ts", "testing/scripted-model.ts", "testing/steps.ts"],
  );
  const [{ openSqliteStore }, { exportTree }, { importTree }, { openMemoryStore }] = await load(
    ...["storage/store/sqlite/store.ts", "storage/store/export/tree.ts", "storage/store/import/tree.ts"],
    "storage/store/memory.ts",
  );
  const file = join(folder, "runs.db");
  await using store = await openSqliteStore(file);
  const runtime = createRuntime({ store });
  const { runId } = await runtime.run(agent({ name: "lead", model: scriptedModel(says(`Take ${key}.`)) }), "Go.");

  const events: StoredEvent[] = await store.read(runId);
  const applause = events.find(({ type }) => String(type) === "applause");
  assert.partialDeepStrictEqual(applause, { type: "applause", turn: 1, words: "Take [redacted: GitHub token]." });

  const exported = await exportTree(store, runId, "json");
  assert.equal(JSON.parse(exported).version, 2);
  const other = openMemoryStore();
  await importTree(other, exported);
  assert.deepEqual(await other.read(runId), events);
  const damaged = exported.replace('"type":"applause","turn":1', '"type":"applause","turn":-1');
  await assert.rejects(importTree(openMemoryStore(), damaged), /\(applause\) cannot be read: turn must be at least 0/);
  const { importTree: importNow } = await import("../../../src/storage/store/import/tree.ts");
  await assert.rejects(importNow(other, exported), /it has version 2 and this sous knows version 1; use a newer sous$/);

  const [{ Comparison }, { foldRecording }, { checkHistory }] = await load(
    ...["storage/replay/comparison.ts", "storage/replay/recording.ts", "testing/checker.ts"],
  );
  assert.deepEqual(checkHistory(events), []);
  const compared = (found: readonly StoredEvent[]) => {
    const comparison = new Comparison(foldRecording(events), {});
    for (const event of found) comparison.add(event);
    return comparison.finish();
  };
  const changed = events.map((event) => (event === applause ? { ...event, words: "Bravo" } : event));
  assert.equal(compared(events).matches, true);
  assert.equal(
    compared(changed).firstDifference.sentence,
    'lead, turn 1, the applause for turn 1 (words): expected "Take [redacted: GitHub token].", found "Bravo"',
  );

  const [{ RunTree }, { plainLine }, { chooseStyle }] = await load(
    ...["app/cli/view/run-tree.ts", "app/cli/view/plain-lines.ts", "app/cli/terminal/style.ts"],
  );
  const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });
  const tree = new RunTree("→");
  for (const event of events) tree.apply(event);
  assert.equal(plainLine(applause, tree, style), "lead  is applauded: Take [redacted: GitH...");
});

/** A module of the changed sources: its types are those of before. */
// biome-ignore lint/suspicious/noExplicitAny: what is added here has no type in these sources.
async function load(...paths: string[]): Promise<any[]> {
  return Promise.all(paths.map((path) => import(pathToFileURL(join(folder, "src", path)).href)));
}

function changeSources(): void {
  cpSync(sourceFolder, join(folder, "src"), { recursive: true });
  cpSync(join(packageFolder, "package.json"), join(folder, "package.json"));
  symlinkSync(join(rootFolder, "node_modules"), join(folder, "node_modules"), "junction");
  const tsconfig = { extends: join(rootFolder, "tsconfig.json"), include: ["src"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  for (const [path, places] of Object.entries(NEW_EVENT)) {
    let text = readFileSync(join(folder, "src", path), "utf8");
    for (const [place, replacement] of places) {
      assert.equal(text.split(place).length, 2, `${path} has one place like this: ${place}`);
      text = text.replace(place, replacement);
    }
    writeFileSync(join(folder, "src", path), text);
  }
}
