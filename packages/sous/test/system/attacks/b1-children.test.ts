/** B1: a child that wants more than its parent may give. Every attempt is made with `--yes`, so that only rights stand in its way. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openCommand } from "../../support/attacks/whole-command.ts";
import { ATTEMPTS, type Attempt, FREE } from "./b1-attempts.ts";

/** By what was made: `marker` in the repository. */
async function makesMarker({ script, flags, files = {}, at }: Attempt): Promise<boolean> {
  await using command = await openCommand(files);
  await command.trust();
  await command.run(script, { yes: true, ...flags }, at === undefined ? {} : { at });
  return existsSync(join(command.root, "marker"));
}

suite("B1.1, B1.3: no child has more rights", () => {
  for (const [what, attempt] of ATTEMPTS)
    test(`${what} makes no marker`, async () => assert.equal(await makesMarker(attempt), false));

  for (const [what, attempt] of FREE)
    test(`B1.3: ${what} and is not held does make the marker, so the rows above can fail`, async () =>
      assert.equal(await makesMarker(attempt), true));
});
