/** B3.3: a known secret is not in what the command writes as a process. The other ways out are in the test of this name in `unit`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ended, runProcess, scriptFolder } from "../../support/app/cli/run-process.ts";
import { ANSWER, assertHidden, KEY, MARK, WITH_KEY } from "../../support/attacks/shapeless-key.ts";
import { startAimock } from "../../support/runtime/model/aimock.ts";

async function sous(parameters: string[], env: Record<string, string>): Promise<Ended> {
  await using place = await scriptFolder({ says: { sous: [{ text: ANSWER }] } });
  return await runProcess({ cwd: place.path, parameters, env });
}

test("B3.3: an answer on the stdout of a process has a mark instead of the key", async () => {
  const parameters = ["run", `Say it: ${KEY}`, "--model", "script/says.json", "--ephemeral"];
  const { code, stdout, stderr } = await sous(parameters, WITH_KEY);
  assert.equal(code, 0, stderr);
  assert.ok(stdout.includes(MARK));
  assertHidden(stdout + stderr);
});

test("B3.3: a key that a command gave is hidden like one from a variable", async () => {
  const response = { error: { message: `no: ${KEY}`, type: "invalid_request_error" }, status: 400 };
  await using server = await startAimock([{ match: { userMessage: "Look around" }, response }]);
  const parameters = ["run", "Look around", "--model", "anthropic/m", "--ephemeral", "--quiet"];
  const { stderr } = await sous(parameters, {
    ...server.environment,
    ANTHROPIC_API_KEY: "",
    PATH: "/usr/bin:/bin",
    SOUS_PROVIDER_API_KEY_COMMAND: `echo ${KEY}`,
  });
  assert.match(stderr, /no: \[redacted: /);
  assertHidden(stderr);
});
