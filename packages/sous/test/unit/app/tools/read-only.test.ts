import { join } from "node:path";
import { test } from "node:test";
import { compileSchema } from "../../src/schema/compile.ts";
import { readOnlyTools } from "../../src/tools/read-only.ts";
import { assertGolden } from "../cli/golden.ts";

test("what models read about the tools that look is as it was promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
  const sections = await Promise.all(
    readOnlyTools().map(async ({ name, description, inputSchema }) => {
      const { jsonSchema } = await compileSchema(inputSchema);
      return `# ${name}\n\n${description}\n\n${JSON.stringify(jsonSchema, undefined, 2)}\n`;
    }),
  );
  assertGolden("read-only-tools.txt", sections, join(import.meta.dirname, "../snapshots"));
});
