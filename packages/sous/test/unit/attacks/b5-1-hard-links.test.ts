/** B5.1: a hard link in the workspace to a file outside of it. Judged by whether the secret is in the answer. */

import assert from "node:assert/strict";
import { chmod, link, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { answer, type TemporaryTree, temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { edit } from "../../support/app/tools/write-tools.ts";

const SECRET = "SECRET-40b7";

async function withLink(name: string, mode = 0o644): Promise<TemporaryTree & { work: string }> {
  const tree = await temporaryTree({ "outside/secret.txt": `key = ${SECRET}\n`, "work/plain.txt": "key = none\n" });
  const work = join(tree.path, "work");
  const secret = join(tree.path, "outside/secret.txt");
  await chmod(secret, mode);
  await mkdir(dirname(join(work, name)), { recursive: true });
  await link(secret, join(work, name));
  return { ...tree, work };
}

suite("B5.1: hard links", () => {
  const rows: [name: string, mode?: number][] = [
    ["notes.txt"],
    ["src/deep/notes.txt"],
    ["notes.txt", 0o600],
    ["node_modules/one/private.txt", 0o600],
    ["node_modules-not/one.txt"],
  ];
  for (const [name, mode] of rows) {
    test(`B5.1: ${name}${mode === undefined ? "" : " of a private file"} is not read, searched or edited`, async () => {
      await using place = await withLink(name, mode);
      const read = await answer("read_file", { path: name }, place.work);
      const named = await answer("grep", { pattern: "key", path: name }, place.work);
      const searched = await answer("grep", { pattern: "key", include_ignored: true }, place.work);
      const edited = await edit({ path: name, old: "key", new: "word" }, place.work);
      for (const text of [read, named, edited]) assert.match(text, /^failed: .* is a hard link/);
      for (const text of [read, named, searched, edited]) assert.doesNotMatch(text, new RegExp(SECRET));
      assert.equal(
        searched,
        "plain.txt:1:key = none\n[hard links not searched, because their files may lie outside: 1]",
      );
    });
  }

  for (const folder of ["node_modules/.pnpm/one@1.0.0/node_modules/one", ".venv/lib/python3.12/site-packages/one"]) {
    test(`B5.1: a package that an installer linked from its store into ${folder} is read as any file`, async () => {
      await using place = await withLink(`${folder}/index.txt`);
      assert.match(await answer("read_file", { path: `${folder}/index.txt` }, place.work), new RegExp(SECRET));
    });
  }

  test("B5.1: the ignore file of a folder that is a hard link says nothing", async () => {
    await using place = await withLink(".gitignore");
    assert.match(await answer("glob", { pattern: "*" }, place.work), /plain\.txt/);
  });
});
