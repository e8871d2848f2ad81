/** The page about rules says of commands what the rules do. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { decideOn } from "../../../support/runtime/rights/requests.ts";
import { rootFolder } from "../../../support/source-files.ts";

test("H4: every example in the table of commands is right", () => {
  const page = readFileSync(join(rootFolder, "docs/reference/permissions.md"), "utf8");
  const table = page.split("| pattern | allows | does not allow |")[1]?.split("\n\n")[0] ?? "";
  const rows = table.split("\n").map((row) => row.split("|").slice(1, 4).map(codeIn));
  let examples = 0;
  for (const [patterns = [], allowed = [], others = []] of rows) {
    for (const pattern of patterns) {
      for (const command of [...allowed, ...others]) {
        const expected = allowed.includes(command) ? "allow" : undefined;
        assert.equal(
          decideOn([`allow terminal(${pattern})`], "terminal", { command }),
          expected,
          `${pattern}: ${command}`,
        );
        examples += 1;
      }
    }
  }
  assert.ok(examples >= 14, `${examples} examples`);
});

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
