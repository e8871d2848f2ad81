/** `sous run --park` and `sous resume --approve | --deny`: a question is left open in one process and answered in another. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

const write = (path: string) => ({ tool: "write_file", input: { path, content: "done" } });
const place = scriptFolder({
  one: { sous: [{ calls: [write("one.txt")] }, { text: "Written." }] },
  two: { sous: [{ calls: [write("two.txt"), write("three.txt")] }, { text: "Both asked." }] },
});
after(async () => (await place)[Symbol.asyncDispose]());

async function sous(...parameters: string[]) {
  const { path: cwd } = await place;
  return { cwd, ...(await runInProcess({ cwd, parameters: [...parameters, "--db-path", join(cwd, "runs.db")] })) };
}

async function park(script: string) {
  const parked = await sous("run", "Write it", "--quiet", "--json", "--park", "--model", `script/${script}.json`);
  assert.equal(parked.code, 7, parked.stderr);
  const { run_id: id, questions } = JSON.parse(parked.stdout);
  return {
    id: String(id),
    ids: (questions as { id: string }[]).map((each) => each.id),
    digests: (questions as { digest: string }[]).map((each) => each.digest),
    stderr: parked.stderr,
    cwd: parked.cwd,
  };
}

suite("G7: a question that sous run --park left open", () => {
  test("an open question is shown with the command that answers it, by the run and by sous replay", async () => {
    const { id, ids, stderr } = await park("one");
    assert.match(stderr, /1 question waits for an answer:/);
    assert.match(stderr, new RegExp(`Answer: sous resume ${id} --approve ${ids[0]} --db-path`));
    const tree = await sous("replay", "--tree", "--id", id);
    assert.match(tree.stdout, new RegExp(`sous resume ${id} --approve ${ids[0]}`));
    const list = await sous("replay", "--list");
    assert.match(list.stdout, /! .*\n {2}waiting for an answer · 1 open question · /);
    assert.match(tree.stdout, /^sous {2}! waiting for an answer /);
    const { runs } = JSON.parse((await sous("replay", "--list", "--status", "waiting", "--json")).stdout);
    assert.deepEqual(
      runs.map((run: { id: string; status: string }) => [run.id, run.status]),
      [[id, "waiting"]],
    );
    assert.deepEqual(JSON.parse((await sous("replay", "--list", "--status", "interrupted", "--json")).stdout).runs, []);
    assert.match((await sous("stats")).stdout, /1 waiting for an answer/);
    const shown = await sous("replay", "--id", id, "--json");
    assert.deepEqual(
      JSON.parse(shown.stdout).questions.map((each: { id: string }) => each.id),
      ids,
    );
  });

  test("sous resume --approve answers an open question", async () => {
    const { id, ids, cwd } = await park("one");
    const resumed = await sous("resume", id, "--quiet", "--approve", ids[0] ?? "");
    assert.deepEqual([resumed.code, resumed.stdout], [0, "Written.\n"], resumed.stderr);
    assert.equal(await readFile(join(cwd, "one.txt"), "utf8"), "done");
  });

  test("sous resume --approve without the id of a run is refused while several wait, unless it has the digest", async () => {
    await rm(join((await place).path, "one.txt"), { force: true });
    const other = await park("one");
    const { id, ids, digests, cwd } = await park("one");
    for (const given of [[], ["last"], ["--last"]]) {
      for (const answer of [ids[0] ?? "", "all"]) {
        const refused = await sous("resume", ...given, "--quiet", "--approve", answer);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /Several runs of this folder wait for an answer\. Name the one that you mean:\n/);
        for (const each of [id, other.id]) assert.match(refused.stderr, new RegExp(`sous resume ${each} --db-path`));
      }
    }
    assert.equal(existsSync(join(cwd, "one.txt")), false);
    const resumed = await sous("resume", "--quiet", "--approve", `${ids[0]}:${digests[0]}`);
    assert.deepEqual([resumed.code, resumed.stdout], [0, "Written.\n"], resumed.stderr);
  });

  test("a question stays open when only another one was answered, and can be denied with a reason", async () => {
    const { id, ids } = await park("two");
    const first = await sous("resume", id, "--quiet", "--json", "--deny", `${ids[0]}=not on a Friday`);
    assert.deepEqual(
      [first.code, JSON.parse(first.stdout).questions.map((each: { id: string }) => each.id)],
      [7, ids.slice(1)],
      first.stderr,
    );
    const second = await sous("resume", id, "--quiet", "--deny", "all");
    assert.deepEqual([second.code, second.stdout], [0, "Both asked.\n"], second.stderr);
  });

  test("an open question is answered once, and only by its id", async () => {
    const { id, ids } = await park("one");
    const wrong = await sous("resume", id, "--quiet", "--approve", "99999");
    assert.match(wrong.stderr, /No open question has the id "99999"\. Open:\n {2}\d+ {2}sous wants to use write_file/);
    const twice = await sous("resume", id, "--quiet", "--approve", ids[0] ?? "", "--deny", "all");
    assert.match(twice.stderr, /has an answer already/);
    const stored = await sous("run", "Write it", "--park", "--ephemeral", "--model", "script/one.json");
    assert.match(stored.stderr, /--ephemeral stores nothing, and --park/);
  });
});
