/** B5.7: an answer for always to a command counts while the command leads where it led, and a question that is asked again says so. */

import assert from "node:assert/strict";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { isShort } from "../../../src/core/approval.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { lookUpTarget } from "../../../src/runtime/rights/question.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { later, openPlace, park } from "../../support/attacks/moved-place.ts";
import { MOVED_COMMANDS, MOVED_FILES, makeFiles } from "../../support/attacks/moved-targets.ts";
import { requestFor, rulesFrom } from "../../support/runtime/rights/requests.ts";

suite("B5.7: an answer for always to a command is bound to where the command leads", () => {
  for (const { name, files, call, move, back } of MOVED_COMMANDS) {
    test(`B5.7: it does not count elsewhere, and counts again when all is as it was: ${name}`, async () => {
      await using tree = await temporaryTree();
      makeFiles(tree.path, files);
      const policy = createPolicy({ rules: rulesFrom("ask *") });
      const request = requestFor(...call, { cwd: tree.path });
      const decide = () => policy.decide(request)?.effect;
      policy.remember(policy.describe(request).rule, request);
      const before = decide();
      move(tree.path);
      const moved = decide();
      back(tree.path);
      assert.deepEqual([before, moved, decide()], ["allow", "ask", "allow"]);
    });
  }
});

suite("B5.7: a question that is asked again because of a change is answered by its digest alone", () => {
  for (const { call, ...variant } of [...MOVED_FILES, ...MOVED_COMMANDS]) {
    test(`B5.7: it says that it has changed, and has more than one line: ${variant.name}`, async () => {
      await using place = await openPlace({ ...variant, calls: [call] });
      const { id, keys } = await park(place);
      variant.move(place.root);
      const { questions } = await place.process(later).resume(id, ...keys);
      const [question] = questions;
      assert.match(question?.action ?? "", /asked because what it leads to has changed since you were asked$/);
      assert.equal(question && isShort(question), false);
      // A yes without the digest is no answer.
      await assert.rejects(place.process(later).resume(id, question?.id ?? ""), /answer it as/);
    });
  }

  test("B5.7: a question shows the path that a command leads to where another one is written", async () => {
    await using tree = await temporaryTree({ "deploy/prod.yaml": "" });
    symlinkSync("deploy", join(tree.path, "docs"));
    const shown = (input: object): readonly string[] => {
      const request = requestFor("terminal", input, { cwd: tree.path });
      return createPolicy({ rules: [] }).describe({ ...request, target: lookUpTarget(request) }, 2000).lines;
    };
    const leads = `leads to ${tree.path}/deploy`;
    assert.deepEqual(shown({ command: "echo x > docs/prod.yaml" }).slice(1, 2), [`${leads}/prod.yaml`]);
    assert.deepEqual(shown({ command: "make", cwd: "docs" }).slice(1), ["cwd: docs", leads]);
    assert.deepEqual(shown({ command: "make deploy" }), ["make deploy"]);
    assert.deepEqual(shown({ command: "/bin/ls deploy" }), ["/bin/ls deploy"]);
  });
});

suite("B5.7: a path of a command outside of the workspace is looked up, too", () => {
  const forms = (folder: string): string[] => [
    ...[
      `cp v ${folder}/d/f`,
      `cp v '${folder}/d/f'`,
      `dd if=v of=${folder}/d/f`,
      `cp -t${folder}/d v`,
      `cp v ${folder}/?/f`,
    ],
    ...[`cd ${folder} && cp v d/f`, `(cd ${folder}; cp v d/f)`, `env -C ${folder} cp v d/f`, `cp v "${folder}/d/f" $X`],
  ];
  for (const [index, form] of forms("X").entries()) {
    test(`B5.7: the target changes when a folder outside becomes a link: ${form}`, async () => {
      await using tree = await temporaryTree({ "work/v": "", "outside/d/f": "1", "outside/e/f": "2" });
      const cwd = join(tree.path, "work");
      for (const folder of [join(tree.path, "outside"), "../outside"]) {
        const request = requestFor("terminal", { command: forms(folder)[index] ?? "" }, { cwd });
        const before = lookUpTarget(request);
        renameSync(join(tree.path, "outside/d"), join(tree.path, "outside/aside"));
        symlinkSync("e", join(tree.path, "outside/d"));
        assert.notDeepEqual(lookUpTarget(request), before, folder);
        renameSync(join(tree.path, "outside/d"), join(tree.path, `outside/link`));
        renameSync(join(tree.path, "outside/aside"), join(tree.path, "outside/d"));
        renameSync(join(tree.path, "outside/link"), join(tree.path, `link-${folder.length}`));
      }
    });
  }

  test("B5.7: the home folder counts by its name and by its variable", async (t) => {
    await using tree = await temporaryTree({ "work/": "" });
    const before = process.env.HOME;
    process.env.HOME = tree.path;
    t.after(() => {
      process.env.HOME = before;
    });
    assert.equal(homedir(), tree.path);
    mkdirSync(join(tree.path, "e"));
    writeFileSync(join(tree.path, "e/f"), "");
    symlinkSync("e", join(tree.path, "d"));
    const cwd = join(tree.path, "work");
    for (const command of [
      "cp v ~/d/f",
      "cp v $HOME/d/f",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for the shell.
      "cp v ${HOME}/d/f",
      "cp --to=~/d/f v",
      'cp v "$HOME/d/f" $X',
      "cd && cp v ~/d/f",
    ])
      assert.ok(
        lookUpTarget(requestFor("terminal", { command }, { cwd }))?.paths.includes(join(tree.path, "e/f")),
        command,
      );
  });
});
