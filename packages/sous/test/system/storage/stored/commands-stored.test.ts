/** The command imports and resumes what earlier commits have stored. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { dataFolder, sous } from "../../../support/app/cli/sous-process.ts";
import { COMMITS, goldenFiles } from "../../../support/storage/stored/golden-files.ts";

for (const commit of COMMITS) {
  const files = goldenFiles(commit);

  suite(`G6: the command on data of commit ${commit}`, () => {
    test(`sous replay --import takes an export of ${commit}, and the command shows the tree`, async () => {
      await using folder = await dataFolder();
      const rootId = files.rootId("crew");
      const imported = await sous(["replay", "--import", files.path("crew.export.json")], { env: folder.env });
      assert.deepEqual([imported.code, imported.stderr], [0, ""]);
      const { stdout } = await sous(["replay", "--id", rootId, "--tree"], { env: folder.env });
      for (const { label } of files.summary.trees.crew?.runs ?? []) assert.ok(stdout.includes(label), stdout);
    });

    test(`sous resume continues a run of ${commit} that has no end`, async () => {
      await using folder = await dataFolder();
      const [answers, unfinished] = [join(folder.path, "answers.json"), join(folder.path, "unfinished.json")];
      writeFileSync(answers, JSON.stringify({ lead: [{ text: "Nothing at night." }] }));
      // The agents of the trees that were killed are in a program; this one needs only a model that the command has.
      const { text } = files.exported("branch");
      const exported = JSON.parse(text.replaceAll("scripted/model", `script/${answers}`));
      exported.events = exported.events.slice(0, 1);
      writeFileSync(unfinished, JSON.stringify(exported));
      const env = { ...folder.env, XDG_CONFIG_HOME: folder.path, XDG_STATE_HOME: folder.path };
      const imported = await sous(["replay", "--import", unfinished], { env });
      assert.deepEqual([imported.code, imported.stderr], [0, ""]);
      const resumed = await sous(["resume", files.rootId("branch"), "--here"], { env });
      assert.deepEqual([resumed.code, resumed.stdout.trim()], [0, "Nothing at night."], resumed.stderr);
    });
  });
}
