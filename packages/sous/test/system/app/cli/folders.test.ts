/** Two projects and one database: a run continues among the files it was made for. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { killRunsAt } from "../../../support/app/cli/killed-runs.ts";
import { type FolderStage, openFolders } from "./folder-stage.ts";

const BEGINS = JSON.stringify({ sous: [{ text: "I begin." }] });
const WRITES = JSON.stringify({
  sous: [{ calls: [{ tool: "write_file", input: { path: "out.txt", content: "written" } }] }, { text: "Done." }],
});
const SAYS = JSON.stringify({ sous: [{ text: "Yes." }, { text: "Yes again." }, { text: "Still." }] });
const RUN = "sous run 'Write it.' --model script/answers.json --yes";

/** A run was killed in the shop; when it continues, anywhere, it writes a file. */
async function killedInShop(): Promise<FolderStage & { id: string }> {
  const stage = openFolders("shop", "bakery");
  for (const project of ["shop", "bakery"]) stage.write(`${project}/answers.json`, BEGINS);
  await stage.type(RUN, { in: "shop" });
  await killRunsAt(stage.path("data/sous/sous.db"), ({ type }) => type === "turn-start");
  for (const project of ["shop", "bakery"]) stage.write(`${project}/answers.json`, WRITES);
  const listed = await stage.type("sous replay --list --json", { in: "bakery" });
  const [run] = JSON.parse(listed.stdout).runs;
  assert.deepEqual([run.status, run.cwd], ["interrupted", stage.path("shop")]);
  return { ...stage, id: run.id };
}

suite("two projects and one database", () => {
  test("G5: a run that was killed in one project is not continued in another, by no way of naming it", async () => {
    using stage = await killedInShop();
    const { id, type } = stage;
    const ways = `Either cd ~/shop first, or continue it with the files of this folder: `;
    const interrupted = `error: No run of this folder was interrupted. The newest elsewhere is ${id} ("Write it."), in ~/shop. ${ways}`;
    const none = `error: There are no runs of this folder yet. The newest elsewhere is ${id} ("Write it."), in ~/shop. ${ways}`;
    const named = `error: Run ${id} ("Write it.") belongs to ~/shop. ${ways}`;
    const refused: [line: string, sentence: string][] = [
      ["sous resume --yes", `${interrupted}sous resume ${id} --here\n`],
      ["sous resume last --yes", `${none}sous resume ${id} --here\n`],
      ["sous resume --last --yes", `${none}sous resume ${id} --here\n`],
      [`sous resume ${id} --yes`, `${named}sous resume ${id} --here\n`],
      [`sous resume ${id.slice(0, 14)} --fork --yes`, `${named}sous resume ${id} --here\n`],
      ["sous chat --continue --model script/answers.json --yes", `${none}sous chat --resume ${id} --here\n`],
      [`sous chat --resume ${id} --model script/answers.json --yes`, `${named}sous chat --resume ${id} --here\n`],
    ];
    for (const [line, sentence] of refused) {
      const ended = await type(line, { in: "bakery" });
      assert.deepEqual([ended.code, ended.stdout, ended.stderr], [1, "", sentence], line);
    }
    assert.equal(existsSync(stage.path("bakery/out.txt")), false);
    const shown = await type(`sous replay --id ${id} --json`, { in: "bakery" });
    assert.deepEqual([shown.code, JSON.parse(shown.stdout).run.cwd], [0, stage.path("shop")], "looking is free");
    const tree = await type(`sous replay --tree --id ${id}`, { in: "bakery" });
    const [, command = ""] = /^It was interrupted\. Continue it: (.*)$/m.exec(tree.stdout) ?? [];
    assert.equal(command, `cd ~/shop && sous resume ${id}`);
    const continued = await type(`${command} --yes`, { in: "bakery" });
    assert.deepEqual([continued.code, continued.stdout], [0, "Done.\n"], continued.stderr);
    assert.equal(readFileSync(stage.path("shop/out.txt"), "utf8"), "written");
    assert.equal(existsSync(stage.path("bakery/out.txt")), false);
  });

  test("G5: --here continues a run with the files of this folder, and it still belongs to its own", async () => {
    using stage = await killedInShop();
    const { id, type } = stage;
    const ended = await type("sous resume --here --yes", { in: "bakery" });
    assert.deepEqual([ended.code, ended.stdout], [0, "Done.\n"], ended.stderr);
    assert.ok(ended.stderr.startsWith(`Run ${id} belongs to ~/shop; it continues with the files of this folder.\n`));
    assert.deepEqual(
      ["shop/out.txt", "bakery/out.txt"].map((file) => existsSync(stage.path(file))),
      [false, true],
    );
    const copy = await type(`sous resume ${id} --here --fork --yes`, { in: "bakery" });
    assert.equal(copy.code, 0, copy.stderr);
    const listed = JSON.parse((await type("sous replay --list --json", { in: "shop" })).stdout);
    assert.deepEqual(
      listed.runs.map(({ cwd }: { cwd: string }) => cwd),
      [stage.path("bakery"), stage.path("shop")],
      "a copy belongs where it was made",
    );
  });

  test("G4: a list shows the folders of others, only this one with --here, and conversations with --roots", async () => {
    using stage = openFolders("shop", "bakery");
    for (const project of ["shop", "bakery"]) stage.write(`${project}/answers.json`, SAYS);
    const chat = await stage.type("sous chat --model script/answers.json", {
      in: "shop",
      input: "One?\nTwo?\n/resume\n/quit\n",
    });
    assert.equal(chat.code, 0, chat.stderr);
    assert.match(chat.stdout + chat.stderr, / 1 {2}One\?\n +this conversation · 2 messages · /);
    await stage.type("sous run 'Other.' --model script/answers.json", { in: "bakery" });
    const list = async (options: string, project: string) => {
      const { stdout } = await stage.type(`sous replay --list --json ${options}`, { in: project });
      return JSON.parse(stdout).runs.map((run: Record<string, unknown>) => [run.task, run.cwd, run.messages]);
    };
    const [shop, bakery] = [stage.path("shop"), stage.path("bakery")];
    assert.deepEqual(await list("", "shop"), [
      ["Other.", bakery, undefined],
      ["Two?", shop, undefined],
      ["One?", shop, undefined],
    ]);
    assert.deepEqual(await list("--roots", "shop"), [
      ["Other.", bakery, 1],
      ["One?", shop, 2],
    ]);
    assert.deepEqual(await list("--roots --here", "shop"), [["One?", shop, 2]]);
    const text = await stage.type("sous replay --list --roots", { in: "shop" });
    assert.match(text.stdout, /^ {2}root · ~\/bakery · Other\.$/m);
    assert.match(text.stdout, /^ {2}root · One\?$/m);
    const [, { id = "" } = {}] = JSON.parse(
      (await stage.type("sous replay --list --json", { in: "shop" })).stdout,
    ).runs;
    const rerun = await stage.type(`sous replay --rerun --id ${id}`, { in: "bakery" });
    assert.deepEqual([rerun.code, rerun.stdout.includes("identical")], [0, true], "a rerun may be in any folder");
    const none = await stage.type("sous replay --list --here", { in: "data" });
    assert.deepEqual([none.stdout, none.stderr], ["", "No run matches; sous replay --list shows the newest.\n"]);
    const alone = await stage.type("sous chat --here", { in: "shop" });
    assert.deepEqual([alone.code, alone.stderr.includes("give --continue or --resume ID with it")], [2, true]);
    const again = await stage.type("sous chat --continue --model script/answers.json", {
      in: "shop",
      input: "Three?\n",
    });
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(await list("--roots --here", "shop"), [["One?", shop, 3]]);
  });

  test("G5: a folder whose name is a secret is known again, and the name is not stored", async () => {
    using stage = openFolders("wJalrXUtnFEMI7MDENG");
    stage.write("wJalrXUtnFEMI7MDENG/answers.json", SAYS);
    const typed = { in: "wJalrXUtnFEMI7MDENG", env: { SHOP_TOKEN: "wJalrXUtnFEMI7MDENG" } };
    await stage.type("sous run 'One?' --model script/answers.json", typed);
    const listed = await stage.type("sous replay --list --here --json", typed);
    const [run] = JSON.parse(listed.stdout).runs;
    assert.equal(run.task, "One?");
    const file = readFileSync(stage.path("data/sous/sous.db"), "latin1");
    assert.equal(file.includes("wJalrXUtnFEMI7MDENG"), false);
    const copy = await stage.type("sous resume last --fork", typed);
    assert.equal(copy.code, 0, copy.stderr);
  });
});
