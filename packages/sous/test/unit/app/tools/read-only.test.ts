import { join } from "node:path";
import { test } from "node:test";
import { readOnlyTools } from "../../../../src/app/tools/read-only.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";

test("the descriptions of the tools that look are as promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
  const sections = await Promise.all(
    readOnlyTools().map(async ({ name, description, inputSchema }) => {
      const { jsonSchema } = await compileSchema(inputSchema);
      return `# ${name}\n\n${description}\n\n${JSON.stringify(jsonSchema, undefined, 2)}\n`;
    }),
  );
  assertGolden("read-only-tools.txt", sections, join(import.meta.dirname, "../../../snapshots"));
});
