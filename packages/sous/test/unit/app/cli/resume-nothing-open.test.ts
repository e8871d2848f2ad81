/** `sous resume --approve all` on a run that has no open question, such as one that was killed before it asked. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

const write = { tool: "write_file", input: { path: "one.txt", content: "done" } };
const SCRIPTS = {
  asks: { sous: [{ calls: [write] }, { text: "Written." }] },
  says: { sous: [{ text: "Said." }] },
  looks: { sous: [{ calls: [{ tool: "list_files", input: {} }] }, { text: "Seen." }] },
};

async function stage() {
  const place = await scriptFolder(SCRIPTS);
  const cwd = place.path;
  const sous = (db: string, ...parameters: string[]) =>
    runInProcess({ cwd, parameters: [...parameters, "--db-path", join(cwd, db)] });
  const start = async (db: string, script: keyof typeof SCRIPTS, ...more: string[]) => {
    const parameters = ["--quiet", "--json", "--park", "--model", `script/${script}.json`, ...more];
    const ended = await sous(db, "run", "Go", ...parameters);
    return String(JSON.parse(ended.stdout).run_id);
  };
  return {
    sous,
    start,
    isWritten: () => existsSync(join(cwd, "one.txt")),
    /** A run that was killed before this event, in a database of its own or in that of others. */
    async killedBefore(type: StoredEvent["type"], db: string): Promise<string> {
      const id = await start(`whole-${db}`, "asks");
      await using whole = await openSqliteStore(join(cwd, `whole-${db}`));
      const events = await whole.read(id);
      const kept = events.slice(
        0,
        events.findIndex((event) => event.type === type),
      );
      await using store = await openSqliteStore(join(cwd, db));
      await store.append(id, structuredClone([...kept]), NO_OWNER);
      return id;
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

const continues = (id: string) => `Run ${id} has no open questions to answer; it continues.\n`;

suite("sous resume --approve all without an open question", () => {
  for (const answer of ["--approve", "--deny"])
    test(`sous resume ${answer} all continues a run that was killed before it asked, says so, and answers nothing that comes later`, async () => {
      await using here = await stage();
      const id = await here.killedBefore("message-end", "a.db");
      const first = await here.sous("a.db", "resume", id, "--quiet", answer, "all");
      assert.equal(first.stderr.slice(0, continues(id).length), continues(id));
      assert.match(first.stderr, /1 question waits for an answer:/);
      assert.deepEqual([first.code, here.isWritten()], [7, false]);
      const second = await here.sous("a.db", "resume", id, "--quiet", "--approve", "all");
      assert.deepEqual([second.code, second.stdout, second.stderr], [0, "Written.\n", ""]);
      assert.equal(here.isWritten(), true);
    });

  test("with --json the sentence is on stderr alone", async () => {
    await using here = await stage();
    const id = await here.killedBefore("message-end", "a.db");
    const first = await here.sous("a.db", "resume", id, "--quiet", "--json", "--approve", "all");
    assert.equal(JSON.parse(first.stdout).questions.length, 1);
    assert.equal(first.stderr.slice(0, continues(id).length), continues(id));
    assert.equal(first.code, 7);
  });

  test("the newest run is continued when no run is named and none waits", async () => {
    await using here = await stage();
    const id = await here.killedBefore("message-end", "a.db");
    for (const given of [[], ["last"]]) {
      const resumed = await here.sous("a.db", "resume", ...given, "--quiet", "--deny", "all");
      if (given.length === 0) assert.ok(resumed.stderr.startsWith(continues(id)), resumed.stderr);
      // Now it has asked, and the answer is one.
      else assert.deepEqual([resumed.code, resumed.stdout, resumed.stderr], [0, "Written.\n", ""]);
    }
    assert.equal(here.isWritten(), false);
  });

  test("no other run is continued in place of the one that waits, when no run is named", async () => {
    await using here = await stage();
    const waiting = await here.start("a.db", "asks");
    const killed = await here.killedBefore("message-end", "a.db");
    for (const given of [[], ["last"], ["--last"]])
      for (const answer of ["--approve", "--deny"]) {
        const refused = await here.sous("a.db", "resume", ...given, "--quiet", answer, "all");
        assert.deepEqual([refused.code, refused.stdout], [1, ""]);
        assert.match(
          refused.stderr,
          new RegExp(
            `^error: Run ${killed} has no open questions, and another run of this folder waits for an answer\\. Name the one that you mean:\n  sous resume ${killed} .*\n  sous resume ${waiting} .*\n$`,
          ),
        );
      }
    const named = await here.sous("a.db", "resume", killed, "--quiet", "--approve", "all");
    assert.ok(named.stderr.startsWith(continues(killed)), named.stderr);
    const answered = await here.sous("a.db", "resume", waiting, "--quiet", "--approve", "all");
    assert.deepEqual([answered.code, answered.stdout, answered.stderr], [0, "Written.\n", ""]);
  });

  test("a run that was out of turns continues, as it does without --approve", async () => {
    await using here = await stage();
    const id = await here.start("a.db", "looks", "--max-turns", "1");
    const resumed = await here.sous("a.db", "resume", id, "--quiet", "--approve", "all", "--max-turns", "5");
    assert.deepEqual([resumed.code, resumed.stdout, resumed.stderr], [0, "Seen.\n", continues(id)]);
  });

  test("a run that has completed is refused, as it is without --approve", async () => {
    await using here = await stage();
    const id = await here.start("a.db", "says");
    const refused = await here.sous("a.db", "resume", id, "--quiet", "--approve", "all");
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, new RegExp(`^error: Run ${id} has completed\\.`));
    assert.doesNotMatch(refused.stderr, /it continues/);
  });

  test("an answer to a question that there is not is refused, also beside all", async () => {
    await using here = await stage();
    const id = await here.killedBefore("message-end", "a.db");
    for (const answers of [
      ["--approve", "5"],
      ["--approve", "5:0a1b2c3d"],
      ["--deny", "5=no"],
      ["--approve", "all", "--deny", "5"],
    ]) {
      const refused = await here.sous("a.db", "resume", id, "--quiet", ...answers);
      assert.deepEqual([refused.code, refused.stdout], [1, ""]);
      assert.match(refused.stderr, /^error: The run has no open questions; sous resume without --approve and --deny/);
    }
  });
});
