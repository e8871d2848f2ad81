import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { rootPrompt } from "../../src/cli/root-prompt.ts";
import { assertGolden } from "./golden.ts";

test("what the root agent is told is as it was promised; UPDATE_SNAPSHOTS=1 promises anew", () => {
  const plain = rootPrompt({ cwd: "/srv/shop", projectNotes: undefined });
  const withNotes = rootPrompt({ cwd: "/srv/shop", projectNotes: "Run npm test before you say it works.\n" });
  assertGolden("root-prompt.txt", [plain, "", "---", "", withNotes], join(import.meta.dirname, "../snapshots"));
  assert.ok(withNotes.startsWith(plain));
});
