/** `sous run --park` and `sous resume --approve`: a yes counts for a question that was printed whole, and for no other. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";
import { HARM, HIDDEN_TEXTS } from "../../../support/runtime/rights/hidden-texts.ts";
import { readActionText, readField } from "../../../support/runtime/rights/read-shown.ts";

const TEXTS = Object.values(HIDDEN_TEXTS).map((text) => `${text}\nend`);
const write = (path: string, content: string) => ({ tool: "write_file", input: { path, content } });
const SCRIPTS = {
  hidden: { sous: [{ calls: TEXTS.map((text, index) => write(`${index}.txt`, text)) }, { text: "Done." }] },
  two: { sous: [{ calls: [write("short.txt", "a"), write("long.txt", `a\n${HARM}`)] }, { text: "Done." }] },
  sixty: {
    sous: [{ calls: Array.from({ length: 60 }, (_, index) => write(`short-${index}.txt`, "a")) }, { text: "Done." }],
  },
};

type Question = { id: string; digest: string; action: string; input: { path: string; content: string } };

async function stage() {
  const place = await scriptFolder(SCRIPTS);
  const sous = (...parameters: string[]) =>
    runInProcess({ cwd: place.path, parameters: [...parameters, "--db-path", join(place.path, "runs.db")] });
  return {
    sous,
    async park(script: keyof typeof SCRIPTS) {
      const ended = await sous("run", "Go", "--quiet", "--json", "--park", "--model", `script/${script}.json`);
      assert.equal(ended.code, 7, ended.stderr);
      const { run_id: id, questions } = JSON.parse(ended.stdout);
      return { id: String(id), questions: questions as Question[], stderr: ended.stderr };
    },
    isThere: (path: string) => existsSync(join(place.path, path)),
    read: (path: string) => readFileSync(join(place.path, path), "utf8"),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

/** The questions as they are printed: each with the digest behind its last line, `undefined` for one line. */
function printed(text: string): Map<string, { action: string; digest: string | undefined }> {
  const found = new Map<string, { action: string; digest: string | undefined }>();
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const [, id, first] = /^ {2}(\d+) {2}(\S.*)$/.exec(lines[at] ?? "") ?? [];
    if (id === undefined || first === undefined) continue;
    const rows = [first];
    while (lines[at + 1]?.startsWith("    ")) rows.push((lines[++at] ?? "").slice(4));
    const end = new RegExp(`^ {2}end of question ${id}: approve it as ${id}:([0-9a-f]{8})$`).exec(lines[at + 1] ?? "");
    found.set(id, { action: rows.join("\n"), digest: end?.[1] });
  }
  return found;
}

suite("B5.7: a question that sous run --park left open", () => {
  test(`B5.7: ${TEXTS.length} texts with a hidden part are printed whole, refused by their id, and written as they were printed`, async () => {
    await using here = await stage();
    const { id, questions, stderr } = await here.park("hidden");
    assert.equal(questions.length, TEXTS.length);
    const shown = printed(stderr);
    const tree = await here.sous("replay", "--tree", "--id", id);
    const page = await here.sous("replay", "--id", id);
    assert.deepEqual([printed(tree.stdout), printed(page.stdout)], [shown, shown]);
    const keys: string[] = [];
    for (const [index, question] of questions.entries()) {
      const { action, digest = "" } = shown.get(question.id) ?? {};
      // The whole action is in the JSON, too.
      assert.equal(action, question.action);
      assert.deepEqual(question.input, { path: `${index}.txt`, content: TEXTS[index] });
      const [path, content = ""] = readActionText(question.action).entries;
      assert.deepEqual([path, readField(content)], [`${index}.txt`, ["content", TEXTS[index]]]);
      assert.equal(digest, question.digest);
      keys.push(`${question.id}:${digest}`);
      const refused = await here.sous("resume", id, "--quiet", "--approve", question.id);
      assert.deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
      assert.match(refused.stderr, /^error: The question \d+ has several lines: read it to its end\n/);
      assert.deepEqual(printed(refused.stderr).get(question.id), { action, digest });
      assert.ok(!here.isThere(`${index}.txt`));
    }
    const ended = await here.sous("resume", id, "--quiet", ...keys.flatMap((key) => ["--approve", key]));
    assert.deepEqual([ended.code, ended.stdout], [0, "Done.\n"], ended.stderr);
    for (const [index, text] of TEXTS.entries()) assert.equal(here.read(`${index}.txt`), text.toWellFormed());
  });

  test("B5.7: a digest of another question, another run or nothing is refused, prints the question again and runs nothing", async () => {
    await using here = await stage();
    const other = await here.park("two");
    const { id, questions } = await here.park("two");
    const [short, long] = questions;
    assert.ok(short !== undefined && long !== undefined);
    const wrong = ["00000000", short.digest, other.questions[1]?.digest, `${long.digest}0`, long.digest.slice(1), ""];
    for (const digest of wrong) {
      const refused = await here.sous("resume", id, "--quiet", "--approve", `${long.id}:${digest}`);
      assert.deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
      assert.match(refused.stderr, /The question \d+ is not the one that ended with|No open question has the id/);
      assert.equal(printed(refused.stderr).get(long.id)?.action, long.action);
    }
    const wrongShort = await here.sous("resume", id, "--quiet", "--approve", `${short.id}:${long.digest}`);
    assert.equal(wrongShort.code, 1);
    assert.deepEqual([here.isThere("short.txt"), here.isThere("long.txt")], [false, false]);
    const ended = await here.sous("resume", id, "--quiet", "--approve", `${long.id}:${long.digest.toUpperCase()}`);
    assert.equal(ended.code, 7, ended.stderr);
    assert.deepEqual([here.isThere("short.txt"), here.read("long.txt")], [false, `a\n${HARM}`]);
  });

  test("B5.7: --approve all covers questions of one line only, and a no needs no digest", async () => {
    await using here = await stage();
    const { id, questions } = await here.park("two");
    const [, long] = questions;
    const some = await here.sous("resume", id, "--quiet", "--json", "--approve", "all");
    assert.equal(some.code, 7, some.stderr);
    assert.deepEqual(JSON.parse(some.stdout).questions, [long]);
    assert.deepEqual([here.isThere("short.txt"), here.isThere("long.txt")], [true, false]);
    const none = await here.sous("resume", id, "--quiet", "--approve", "all");
    assert.equal(none.code, 1);
    assert.match(none.stderr, /--approve all answers questions of one line, and there is none/);
    assert.equal(printed(none.stderr).get(long?.id ?? "")?.digest, long?.digest);
    const denied = await here.sous("resume", id, "--quiet", "--deny", `${long?.id}=no`);
    assert.deepEqual([denied.code, denied.stdout, here.isThere("long.txt")], [0, "Done.\n", false], denied.stderr);
  });

  test("B5.7: --approve all covers the questions that are printed, and not those that are only counted", async () => {
    await using here = await stage();
    const { id, questions, stderr } = await here.park("sixty");
    const shown = printed(stderr);
    assert.deepEqual([questions.length, shown.size], [60, 50]);
    const some = await here.sous("resume", id, "--quiet", "--json", "--approve", "all");
    const left: Question[] = JSON.parse(some.stdout).questions;
    assert.deepEqual(
      left.map((each) => each.id),
      questions.map((each) => each.id).filter((each) => !shown.has(each)),
    );
    const written = questions.filter(({ input }) => here.isThere(input.path)).map((each) => each.id);
    assert.deepEqual(written, [...shown.keys()]);
    const rest = await here.sous("resume", id, "--quiet", "--approve", "all");
    assert.deepEqual([rest.code, rest.stdout], [0, "Done.\n"], rest.stderr);
  });
});
