/** Settings of a provider in the user's configuration reach it, and only it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { modelSource } from "../../../../src/app/cli/application/models.ts";
import type { Configuration } from "../../../../src/app/config/configuration.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { agent } from "../../../../src/core/agent.ts";
import { MissingKey } from "../../../../src/core/errors.ts";
import { runtimeOn } from "../../../../src/runtime.ts";

const KEY = "key-of-the-user";
const MODEL = "anthropic/claude-haiku-4-5";

suite("E1: provider settings", () => {
  const heard: { path: string | undefined; key: unknown }[] = [];
  const server = createServer((request, response) => {
    heard.push({ path: request.url, key: request.headers["x-api-key"] });
    response.writeHead(503).end("{}");
  });
  let baseUrl = "";
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/proxy/v1`;
  });
  after(() => server.close());

  /** What the server heard when a run asked this model. */
  async function askedBy(
    model: string,
    settings: Partial<Configuration["provider"]>,
    env: Record<string, string> = {},
  ) {
    await using programs = openPrograms({ environment: process.env });
    heard.length = 0;
    const provider = { baseUrl, timeout: 60, callTimeout: 1200, maxRetries: 0, maxConcurrentCalls: 1, ...settings };
    const source = await modelSource({ cwd: "/", env, programs }, { model: MODEL, provider } as Configuration);
    const lead = agent({ name: "lead", model });
    await assert.rejects(async () => runtimeOn(source.resolve, {}).run(lead, "Hello"));
    return { heard: [...heard], secrets: source.secrets };
  }

  test("a key comes from the variable that is named, goes to the address that is given, once, and is known as a secret", async () => {
    const asked = await askedBy(MODEL, { apiKeyEnv: "MY_OWN" }, { MY_OWN: KEY, ANTHROPIC_API_KEY: "another" });
    assert.deepEqual(asked, { heard: [{ path: "/proxy/v1/messages", key: KEY }], secrets: { SOUS_API_KEY: KEY } });
  });

  test("a key comes from a command, which may complain beside it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sous-key-"));
    try {
      const program = join(folder, "key.sh");
      writeFileSync(program, `echo The vault is slow today >&2\necho ${KEY}\n`);
      const { heard: requests } = await askedBy(MODEL, { apiKeyCommand: `sh ${program}` });
      assert.deepEqual(requests, [{ path: "/proxy/v1/messages", key: KEY }]);
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });

  test("a request is repeated as many times as are set", async () => {
    const { heard: requests } = await askedBy(MODEL, { apiKeyEnv: "MY_OWN", maxRetries: 1 }, { MY_OWN: KEY });
    assert.equal(requests.length, 2);
  });

  test("the model of another provider gets neither the key nor the address", async () => {
    const { heard: requests } = await askedBy("openai/gpt-5.5", { apiKeyEnv: "MY_OWN" }, { MY_OWN: KEY });
    assert.deepEqual(requests, []);
  });

  const missing: [what: string, settings: Partial<Configuration["provider"]>, message: RegExp][] = [
    ["a variable that is not set", { apiKeyEnv: "MY_OWN" }, /^The key is expected in MY_OWN/],
    ["a command that fails", { apiKeyCommand: `false ${KEY}` }, /^provider\.api_key_command \(false\) gave no key/],
    ["a command that says more than a key", { apiKeyCommand: `echo ${KEY} and more` }, /must print one word$/],
  ];
  for (const [what, settings, message] of missing) {
    test(`${what} is a missing key, and nothing of it is told`, async () => {
      await assert.rejects(askedBy(MODEL, settings), (error) => {
        assert.ok(error instanceof MissingKey);
        assert.match(error.message, message);
        assert.ok(!error.message.includes(KEY));
        return true;
      });
      assert.deepEqual(heard, []);
    });
  }
});
