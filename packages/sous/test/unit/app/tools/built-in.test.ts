import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { builtInTools } from "../../../../src/app/tools/built-in.ts";
import type { Programs } from "../../../../src/core/process.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";

const never = () => Promise.reject(new Error("nothing is started"));
const programs: Programs = { run: never, start: never, talk: never, find: never, [Symbol.asyncDispose]: never };

test("H6: the built-in tools have a fixed order, and each says whether it asks and whether it may run again", () => {
  const facts = builtInTools({ programs }).map(({ name, tier, effect, category }) =>
    [name, tier, effect, category].join(" "),
  );
  assert.deepEqual(facts, [
    "read_file observe read read",
    "list_files observe read search",
    "glob observe read search",
    "grep observe read search",
    "write_file confirm idempotent edit",
    "edit_file confirm idempotent edit",
    "terminal confirm unsafe execute",
    "fetch confirm read read",
  ]);
  assert.deepEqual(
    builtInTools().some(({ name }) => name === "terminal"),
    false,
  );
});

test("the descriptions of the tools that act are as promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
  const sections = await Promise.all(
    builtInTools({ programs })
      .slice(4)
      .map(async ({ name, description, inputSchema }) => {
        const { jsonSchema } = await compileSchema(inputSchema);
        return `# ${name}\n\n${description}\n\n${JSON.stringify(jsonSchema, undefined, 2)}\n`;
      }),
  );
  assertGolden("built-in-tools.txt", sections, join(import.meta.dirname, "../../../snapshots"));
});
