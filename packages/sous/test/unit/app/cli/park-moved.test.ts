/** `sous run --park` and `sous resume --approve`: what leads elsewhere when the answer comes is not done, and asked again. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";
import { contentsOf } from "../../../support/app/tools/write-tools.ts";
import { callIn, MOVED_FILES, makeFiles } from "../../../support/attacks/moved-targets.ts";

type Question = { id: string; digest: string };
type Ended = { run_id: string; questions?: Question[] };

/** All variants in one run, each in a folder of its own; `command` is `sous resume` with a yes to all of its questions. */
async function openPark() {
  const made = MOVED_FILES.map(({ call }, index) => callIn(`v${index}`, call));
  const sous = [{ calls: made.map(([tool, input]) => ({ tool, input })) }, { text: "Done." }];
  const folder = await scriptFolder({ script: { sous } });
  const work = join(folder.path, "work");
  const places = MOVED_FILES.map((variant, index) => ({ variant, place: join(work, `v${index}`) }));
  for (const { variant, place } of places) {
    mkdirSync(place, { recursive: true });
    makeFiles(place, variant.files);
  }
  const command = async (...parameters: string[]): Promise<Ended> => {
    const words = [...parameters, "--quiet", "--json", "--db-path", join(folder.path, "runs.db")];
    const { stdout, stderr } = await runInProcess({ cwd: work, parameters: words });
    assert.notEqual(stdout, "", stderr);
    return JSON.parse(stdout);
  };
  const parked = await command("run", "Write it", "--park", "--model", `script/${join(folder.path, "script.json")}`);
  const { run_id: id, questions = [] } = parked;
  return {
    work,
    places,
    questions,
    approve: (asked: readonly Question[]) =>
      command("resume", id, ...asked.flatMap((each) => ["--approve", `${each.id}:${each.digest}`])),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test(`B5.7: sous resume --approve asks again about each of ${MOVED_FILES.length} calls that lead elsewhere by then, and writes nothing`, async () => {
  await using park = await openPark();
  assert.equal(park.questions.length, MOVED_FILES.length);
  for (const { variant, place } of park.places) variant.move(place);
  const before = await contentsOf(park.work);
  const { questions = [] } = await park.approve(park.questions);
  assert.deepEqual(await contentsOf(park.work), before);
  assert.equal(questions.length, MOVED_FILES.length);
  const digests = new Set(park.questions.map(({ digest }) => digest));
  assert.deepEqual(
    questions.filter(({ digest }) => digests.has(digest)),
    [],
  );
});

test("B5.7: sous resume --approve makes the calls that lead where they did when the answer comes", async () => {
  await using park = await openPark();
  const before = await contentsOf(park.work);
  for (const { variant, place } of park.places) {
    variant.move(place);
    variant.back(place);
  }
  const { questions = [] } = await park.approve(park.questions);
  assert.deepEqual(questions, []);
  const after = await contentsOf(park.work);
  const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
  for (const index of MOVED_FILES.keys())
    assert.ok(
      changed.some((name) => name.startsWith(`v${index}/`)),
      MOVED_FILES[index]?.name,
    );
  assert.deepEqual(
    changed.filter((name) => /\/(?:deploy|z|DOCS)\//.test(name)),
    [],
  );
  assert.equal(readFileSync(join(park.work, "v0/docs/prod.yaml"), "utf8"), "n: 2\n");
});
