/** The sizes on the page about costs: what the root of `sous run` sends before the task. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runProcess, scriptFolder } from "../../support/app/cli/run-process.ts";
import { startAimock, usage } from "../../support/runtime/model/aimock.ts";

const KB = 1024;

for (const [what, flags, least, most] of [
  ["with all its tools the root sends about 14 KB", [], 11, 17],
  ["with three tools that read the root sends about 4 KB", ["--tools", "read_file,grep,glob"], 2.5, 5.5],
] as const) {
  test(`K1: ${what}`, async () => {
    await using place = await scriptFolder({});
    await using server = await startAimock([{ match: {}, response: { content: "Hello.", usage: usage(900, 9) } }]);
    const { code, stderr } = await runProcess({
      cwd: place.path,
      parameters: ["run", "Hello", "--model", "anthropic/claude-sonnet-4-5", "--ephemeral", "--quiet", ...flags],
      env: { ...server.environment, HOME: place.path },
    });
    assert.equal(code, 0, stderr);
    const sizes = server.requests().map(({ body }) => JSON.stringify(body).length / KB);
    assert.equal(sizes.length, 1);
    assert.ok(
      sizes.every((size) => size > least && size < most),
      `${sizes.join()} KB`,
    );
  });
}
