/** A yes covers what was asked: when the call leads elsewhere by then, nothing is done and the person is asked again. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { contentsOf } from "../../support/app/tools/write-tools.ts";
import { answering, later, openPlace, type Place, park } from "../../support/attacks/moved-place.ts";
import { MOVED_COMMANDS, MOVED_FILES, type MovedTarget, makeFiles } from "../../support/attacks/moved-targets.ts";

const open = ({ call, ...variant }: MovedTarget): Promise<Place> => openPlace({ ...variant, calls: [call] });

suite("B5.7: an answer does not count for another target", () => {
  for (const [index, variant] of [...MOVED_FILES, ...MOVED_COMMANDS].entries()) {
    test(`B5.7: a call that leads elsewhere when its approver says yes is asked about again: ${variant.name}`, async () => {
      await using place = await open(variant);
      const { approve, asked } = answering(() => variant.move(place.root));
      await place.process(approve).run();
      assert.equal(asked.length, 2);
      assert.notEqual(asked[0]?.digest, asked[1]?.digest);
      assert.deepEqual(await contentsOf(place.root), await movedContents(variant));
    });

    test(`B5.7: a call that leads elsewhere when a later process answers is asked about again: ${variant.name}`, async () => {
      await using place = await open(variant);
      const { id, keys, digests } = await park(place);
      variant.move(place.root);
      const { questions } = await place.process(later).resume(id, ...keys);
      assert.equal(questions.length, 1);
      assert.notEqual(questions[0]?.digest, digests[0]);
      assert.deepEqual(await contentsOf(place.root), await movedContents(variant));
    });

    // A share of them: what moves and comes back is looked up in the same way for all.
    if (index % 3 !== 0) continue;
    test(`B5.7: a call that leads where it did when the answer comes is made once: ${variant.name}`, async () => {
      await using live = await open(variant);
      const back = (place: Place): void => {
        variant.move(place.root);
        variant.back(place.root);
      };
      const { approve, asked } = answering(() => back(live));
      await live.process(approve).run();
      assert.equal(asked.length, 1);
      await using parked = await open(variant);
      const { id, keys } = await park(parked);
      back(parked);
      const { questions } = await parked.process(later).resume(id, ...keys);
      assert.deepEqual([questions, await live.failures(), await parked.failures()], [[], [false], [false]]);
      const made = await contentsOf(live.root);
      assert.deepEqual(made, await contentsOf(parked.root));
      const changed = Object.keys(made).filter((name) => made[name] !== untouched(variant, name));
      assert.ok(changed.length > 0 && changed.every((name) => !name.startsWith("deploy")), changed.join());
    });
  }
});

function untouched({ files }: MovedTarget, name: string): string | undefined {
  const isFolder = Object.keys(files).some((file) => file.startsWith(`${name}/`));
  return isFolder ? "folder" : files[name]?.replace(/^→/, "→ ");
}

/** What is there when nobody has written. */
async function movedContents(variant: MovedTarget): Promise<Record<string, string>> {
  await using other = await temporaryTree();
  makeFiles(other.path, variant.files);
  variant.move(other.path);
  return await contentsOf(other.path);
}
