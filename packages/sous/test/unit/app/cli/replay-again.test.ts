/** `sous replay --rerun`, `--diff` and `--save-cassette`: what was kept is played, compared and kept as a test. */

import assert from "node:assert/strict";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { readOnlyTools } from "../../../../src/app/tools/read-only.ts";
import { agent, type ModelChoice } from "../../../../src/core/agent.ts";
import type { Store } from "../../../../src/core/store.ts";
import { run } from "../../../../src/runtime.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, hangs, says } from "../../../../src/testing/steps.ts";
import { cassetteModel } from "../../../../src/testing.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { dataFolder, type Ended } from "../../../support/app/cli/sous-process.ts";
import { type TemporaryTree, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

let folder: Awaited<ReturnType<typeof dataFolder>>;
let work: TemporaryTree;
const ids = { first: "", second: "", long: "", cut: "" };

before(async () => {
  folder = await dataFolder();
  work = await temporaryTree({ "one.py": "def first():\n  pass\n" });
  await using store = await openSqliteStore(folder.file);
  ids.first = await look(store, scriptedModel([says("I look."), calls("grep", { pattern: "def" })], says("One.")));
  await appendFile(join(work.path, "one.py"), "def second():\n  pass\n");
  ids.second = await look(store, scriptedModel([says("I look."), calls("grep", { pattern: "def" })], says("Two.")));
  const grep = calls("grep", { pattern: "def" });
  ids.long = await look(store, scriptedModel([says("I look."), grep], [says("Again."), grep], says("Three.")));
  ids.cut = await look(store, scriptedModel([says("I look."), grep], [says("Well"), hangs()]), 300);
});
after(async () => {
  await folder[Symbol.asyncDispose]();
  await work[Symbol.asyncDispose]();
});

/** Runs an agent as a program would, and returns the id of its run. */
async function look(store: Store | undefined, model: ModelChoice, timeoutMs?: number): Promise<string> {
  const lead = agent({ name: "lead", model, tools: readOnlyTools({ root: work.path }), delegate: true, timeoutMs });
  const handle = run(lead, "How many definitions are there?", { store });
  return handle.then(
    ({ runId }) => runId,
    () => handle.id,
  );
}

function replay(...parameters: string[]): Promise<Ended> {
  return inProcess(["replay", ...parameters], { cwd: work.path, env: folder.env });
}

suite("G4: a stored run played again", () => {
  test("G4: --rerun plays a run from its recorded answers and results, and says that it came out the same", async () => {
    const { code, stdout, stderr } = await replay("--rerun", "--id", ids.first);
    assert.deepEqual([code, stderr], [0, ""]);
    const [tree = "", ...rest] = stdout.split("\n");
    assert.match(tree, /^lead {2}✓ completed {2}2 turns {2}1 tool {2}[\d.]+k tok {2}\$\?$/);
    assert.deepEqual(rest.slice(1), ["", "identical: 8 steps as recorded", ""]);
    const json = await replay("--rerun", "--id", ids.first, "--json");
    assert.deepEqual(JSON.parse(json.stdout), {
      schema: "sous.rerun.v1",
      root_id: ids.first,
      matches: true,
      first_difference: null,
      ends_early: null,
      events: 8,
    });
  });

  test("G4: --live-tools runs the tools again, and the first step that differs ends it with 8", async () => {
    const { code, stdout, stderr } = await replay("--rerun", "--live-tools", "--id", ids.first);
    assert.deepEqual([code, stderr], [8, ""]);
    assert.match(stdout, /^differs: lead, turn 1, the result of grep \(output\): expected .*, found .*$/m);
    const json = await replay("--rerun", "--live-tools", "--id", ids.first, "--json");
    assert.equal(json.code, 8);
    const { matches, first_difference } = JSON.parse(json.stdout);
    const { sentence, ...difference } = first_difference;
    assert.equal(matches, false);
    assert.deepEqual(difference, {
      path: "lead",
      step: "turn 1, the result of grep",
      at: "output",
      expected: "one.py:1:def first():",
      found: "one.py:1:def first():\none.py:3:def second():",
    });
    assert.match(sentence, /^lead, turn 1, the result of grep/);
    const unchanged = await replay("--rerun", "--live-tools", "--id", ids.second);
    assert.equal(unchanged.code, 0);
  });

  test("--diff lays two runs side by side", async () => {
    const { code, stdout, stderr } = await replay("--diff", ids.first, ids.second);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(stdout.split("\n").slice(4), [
      "lead  differs",
      "= 2 steps the same",
      "~ grep",
      "  output",
      "    one.py:1:def first():                          │ one.py:1:def first():",
      "                                                   │ one.py:3:def second():",
      "~ turn 2, the answer",
      "  text",
      "    One.                                           │ Two.",
      "",
      "1 of 1 agent differs: lead",
      "",
    ]);
    const json = await replay("--diff", ids.first, ids.second, "--json");
    const { schema, is_same, left, right, agents } = JSON.parse(json.stdout);
    assert.deepEqual([schema, is_same, left.run_id, right.run_id], ["sous.diff.v1", false, ids.first, ids.second]);
    assert.deepEqual(agents[0].rows[2], {
      mark: "changed",
      changes: ["output"],
      left: {
        kind: "tool",
        tool_name: "grep",
        input: { pattern: "def" },
        output: "one.py:1:def first():",
        is_error: false,
        children: [],
      },
      right: {
        kind: "tool",
        tool_name: "grep",
        input: { pattern: "def" },
        output: "one.py:1:def first():\none.py:3:def second():",
        is_error: false,
        children: [],
      },
    });
  });

  test("--diff gives null as the step of the side that has none", async () => {
    const json = await replay("--diff", ids.first, ids.long, "--json");
    const [{ rows }] = JSON.parse(json.stdout).agents;
    const alone = rows.filter(({ mark }: { mark: string }) => mark === "only-right");
    assert.ok(alone.length > 0, json.stdout);
    for (const { left, right } of alone) assert.deepEqual([left, typeof right.kind], [null, "string"]);
  });

  test("G4: --rerun of a run that was cut short says where its recording ends", async () => {
    const { code, stdout } = await replay("--rerun", "--id", ids.cut);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^identical: \d+ steps as recorded\nThe recording ends here: .+\n$/m);
    const json = await replay("--rerun", "--id", ids.cut, "--json");
    assert.match(JSON.parse(json.stdout).ends_early, /^The recording ends here: /);
  });

  test("G6: --save-cassette keeps a run as a test that plays it, and replaces nothing unasked", async () => {
    const file = join(folder.path, "cassettes", "look.json");
    const { code, stdout, stderr } = await replay("--save-cassette", file, "--id", ids.second);
    assert.deepEqual([code, stdout], [0, ""], stderr);
    assert.equal(stderr, `Run ${ids.second} is in ${file}: cassetteModel("${file}") of sous/testing plays it.\n`);
    await look(undefined, cassetteModel(file, { environment: {} }));
    const saved = await readFile(file, "utf8");
    const again = await replay("--save-cassette", file, "--id", ids.first);
    assert.deepEqual([again.code, again.stderr], [1, `error: ${file} already exists; --force replaces it\n`]);
    assert.equal(await readFile(file, "utf8"), saved);
    const forced = await replay("--save-cassette", file, "--id", ids.first, "--force");
    assert.equal(forced.code, 0);
    assert.notEqual(await readFile(file, "utf8"), saved);
  });
});
