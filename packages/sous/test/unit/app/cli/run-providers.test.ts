/** `sous run` against a fake provider that nobody here wrote, and against none at all. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, suite, test } from "node:test";
import type { Fixture } from "@copilotkit/aimock";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";
import type { Ended } from "../../../support/app/cli/sous-process.ts";
import { startAimock, usage } from "../../../support/runtime/model/aimock.ts";

/** Never to be seen again, wherever it is sent. */
const SECRET = "sk-ant-api03-neverprintthis";

const MODELS = ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5"] as const;

const child = { label: "scout", task_prompt: "Inspect auth" };

/** The root asks a child, and says what it heard. */
const TREE: Fixture[] = [
  {
    match: { userMessage: "Look around", hasToolResult: false },
    response: { toolCalls: [{ name: "subagent", arguments: JSON.stringify(child) }], usage: usage(1000, 50) },
  },
  {
    match: { userMessage: "Look around", hasToolResult: true },
    response: { content: "It was looked at.", usage: usage(1200, 20) },
  },
  { match: { userMessage: "Inspect auth" }, response: { content: "auth is fine", usage: usage(300, 9) } },
];

const place = scriptFolder({});
after(async () => (await place)[Symbol.asyncDispose]());

async function ask(
  model: string,
  env: Record<string, string>,
  flags: string[] = ["--json", "--quiet"],
): Promise<Pick<Ended, "code" | "stdout" | "stderr">> {
  const { path: cwd } = await place;
  const parameters = ["run", "Look around", "--model", model, "--ephemeral", ...flags];
  const keys = { ANTHROPIC_API_KEY: SECRET, OPENAI_API_KEY: SECRET };
  const ended = await runInProcess({ cwd, parameters, env: { ...env, ...keys } });
  assert.ok(!`${ended.stdout}${ended.stderr}`.includes(SECRET), "a key is never printed");
  return ended;
}

/** One line, and it is about what went wrong. */
function sentence({ stderr }: { stderr: string }): string {
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines.length, 1, stderr);
  return lines[0] ?? "";
}

function refusal(status: number, type: string, message: string): Fixture[] {
  return [{ match: { userMessage: "Look around" }, response: { error: { message, type }, status } }];
}

suite("A4, J1: sous run with a provider", () => {
  for (const model of MODELS) {
    test(`A4, F5: ${model} carries a run and its child, and the usage adds up`, async () => {
      await using server = await startAimock(TREE);
      const { code, stdout, stderr } = await ask(model, server.environment);
      assert.deepEqual([code, stderr], [0, ""]);
      const { status, result, agents, usage: total } = JSON.parse(stdout);
      assert.deepEqual([status, result], ["completed", "It was looked at."]);
      assert.deepEqual(
        agents.map(({ path, status: ending }: Record<string, unknown>) => `${path} ${ending}`),
        ["sous completed", "sous/scout completed"],
      );
      assert.deepEqual([total.input_tokens, total.output_tokens], [2500, 79]);
      assert.equal(server.requests().length, 3);
    });
  }

  test("J1: a key that is refused ends with 4 and the name of its variable", async () => {
    await using server = await startAimock(refusal(401, "authentication_error", `invalid x-api-key ${SECRET}`));
    const ended = await ask(MODELS[0], server.environment, ["--json", "--quiet"]);
    assert.equal(ended.code, 4);
    assert.match(sentence(ended), /^error: .*\(HTTP 401\): check ANTHROPIC_API_KEY/);
    assert.equal(JSON.parse(ended.stdout).status, "failed");
    assert.equal(server.requests().length, 1, "a refused key is not tried again");
  });

  test("J1: a model that the provider does not know ends with 1 and its name", async () => {
    await using server = await startAimock(refusal(404, "not_found_error", "model: nobody"));
    const ended = await ask("anthropic/nobody", server.environment, ["--quiet"]);
    assert.equal(ended.code, 1);
    assert.match(
      sentence(ended),
      /^error: anthropic\/nobody refused the request \(HTTP 404\): model: nobody; check the name of the model and provider\.base_url$/,
    );
  });

  test("B1.4: a model without a price under --budget ends with 3 and one sentence, and is not asked", async () => {
    await using server = await startAimock(TREE);
    const ended = await ask("anthropic/nobody", server.environment, ["--quiet", "--budget", "1"]);
    assert.equal(ended.code, 3);
    assert.match(
      sentence(ended),
      /^error: The model anthropic\/nobody has no price, and this run has a limit in USD: /,
    );
    assert.equal(server.requests().length, 0);
  });

  test("A4: a provider that asks for patience gets it, and stderr says so", async () => {
    const busy: Fixture = {
      match: { userMessage: "Look around", hasToolResult: false, sequenceIndex: 0 },
      response: { error: { message: "Slow down", type: "rate_limit_error" }, status: 429, retryAfter: 1 },
    };
    await using server = await startAimock([busy, ...TREE]);
    const ended = await ask(MODELS[1], server.environment, []);
    assert.deepEqual([ended.code, ended.stdout], [0, "It was looked at.\n"]);
    assert.match(ended.stderr, /^sous {2}waits for the rate limit, 1 s$/m);
    assert.equal(server.requests().length, 4);
  });

  test("I3: a child that fails for the rate is named at the end, and fails the run with --require-all", async () => {
    const limited: Fixture = {
      match: { userMessage: "Inspect auth" },
      response: { error: { message: "Slow down", type: "rate_limit_error" }, status: 429, retryAfter: 3600 },
    };
    const [first, second] = TREE;
    await using server = await startAimock([limited, ...[first, second].filter((each) => each !== undefined)]);
    const warned = await ask(MODELS[0], server.environment);
    assert.deepEqual([warned.code, JSON.parse(warned.stdout).status], [0, "completed"]);
    assert.match(
      sentence(warned),
      /^warning: 1 of 1 child failed for the rate limit of the model: sous\/scout: .*Slow down\. It asks to wait 60 minutes, .* --require-all makes such a run fail\.$/,
    );
    const failed = await ask(MODELS[0], server.environment, ["--json", "--quiet", "--require-all"]);
    const { status, error, agents } = JSON.parse(failed.stdout);
    assert.deepEqual([failed.code, status, agents[1].error.kind], [1, "failed", "rate_limit"]);
    assert.match(error.message, /^1 of 1 children failed: sous\/scout: /);
    assert.equal(sentence(failed), `error: ${error.message}`);
  });

  test("J1: a run without a network ends with 1 and says to whom there is no connection", async () => {
    const port = await closedPort();
    const env = { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, SOUS_PROVIDER_MAX_RETRIES: "0" };
    const ended = await ask(MODELS[0], env);
    assert.equal(ended.code, 1);
    assert.match(sentence(ended), /^error: The connection to anthropic\/claude-sonnet-4-5 failed/);
    assert.deepEqual([JSON.parse(ended.stdout).status, JSON.parse(ended.stdout).error.type], ["failed", "model"]);
  });
});

/** Nobody listens there any more. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no port");
  return address.port;
}
