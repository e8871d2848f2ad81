/** B5.7: commands of the real terminal whose folder, files or arguments lead elsewhere when the person says yes. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Approve } from "../../../src/core/approval.ts";
import { FOLDER_BECOMES_LINK, makeFiles } from "../../support/attacks/moved-targets.ts";
import { calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const { files, move, back } = FOLDER_BECOMES_LINK;

suite("B5.7: a command does not hit what its paths lead to since it was asked about", () => {
  const commands: [command: string, cwd?: string][] = [
    ["echo x > docs/prod.yaml"],
    ["echo x >> ./docs/prod.yaml"],
    ["ls missing 2> docs/prod.yaml"],
    ["cd docs && echo x > prod.yaml"],
    ["echo x > prod.yaml", "docs"],
    ["touch -c prod.yaml; echo x > prod.yaml", "./docs/"],
    ["echo x | tee docs/prod.yaml"],
    ["cp values.yaml docs/prod.yaml"],
    ["mv values.yaml docs/prod.yaml"],
    ["dd if=values.yaml of=docs/prod.yaml"],
  ];
  for (const [command, cwd] of commands) {
    test(`B5.7: ${command}${cwd === undefined ? "" : ` in ${cwd}`} is asked about again when docs has become a link, and runs when it is a folder again`, async () => {
      for (const isBack of [false, true]) {
        await using tree = await openCommand();
        makeFiles(tree.root, { ...files, "values.yaml": "v: 1\n" });
        const digests: (string | undefined)[] = [];
        const ask: Approve = ({ digest }) => {
          digests.push(digest);
          if (digests.length > 1) return { allow: false };
          move(tree.root);
          if (isBack) back(tree.root);
          return { allow: true };
        };
        await tree.run({ sous: [calling(["terminal", { command, cwd }]), saying("Done.")] }, {}, { ask });
        assert.equal(new Set(digests).size, isBack ? 1 : 2);
        assert.equal(readFileSync(join(tree.root, "deploy/prod.yaml"), "utf8"), "n: 1\n");
        const asked = readFileSync(join(tree.root, isBack ? "docs" : "docs.aside", "prod.yaml"), "utf8");
        assert.equal(asked === "n: 1\n", !isBack);
      }
    });
  }
});
