/** B3.3: a known secret is on no way out of the command line: whoever says it, however it is written. Without a process. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import type { Fixture } from "@copilotkit/aimock";
import { agent } from "../../../src/core/agent.ts";
import { RunError } from "../../../src/core/runtime.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { fails } from "../../../src/testing/steps.ts";
import { type Ended, runInProcess } from "../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../support/app/cli/run-process.ts";
import { ANSWER, assertHidden, KEY, MARK, WITH_KEY } from "../../support/attacks/shapeless-key.ts";
import { startAimock } from "../../support/runtime/model/aimock.ts";

/** A file with the name of the key, so that it is a model that can be asked. */
const NAMED = { label: `use ${KEY}`, task_prompt: "Look.", model: `script/${KEY}.json` };

const SCRIPTS = {
  says: { sous: [{ text: ANSWER }] },
  returns: { sous: [{ text: JSON.stringify({ key: KEY }) }] },
  works: {
    sous: [{ calls: [{ tool: "subagent", input: { label: "scout", task_prompt: `Use ${KEY}` } }] }, { text: ANSWER }],
    "sous/scout": [{ text: `I have used ${KEY}` }],
  },
  names: {
    sous: [
      {
        text: "I name it.",
        calls: [
          { tool: "subagent", input: NAMED },
          { tool: "parallel_subagent", input: { tasks: [{ ...NAMED, agent: KEY }, NAMED] } },
          { tool: KEY, input: { [KEY]: KEY } },
        ],
      },
      { text: ANSWER },
    ],
    "**": [{ text: "Here." }],
  },
  [KEY]: { "**": [{ text: "Here." }] },
  streams: { sous: [{ text: ["The key is ", ...(KEY.match(/.{1,5}/g) ?? []), ", as you know."] }] },
  schema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
};

suite("B3.3: a known secret leaves the command line by no way", () => {
  const place = scriptFolder(SCRIPTS);
  after(async () => (await place)[Symbol.asyncDispose]());

  const sous = async (parameters: string[], env: Record<string, string> = WITH_KEY): Promise<Ended> =>
    runInProcess({ cwd: (await place).path, parameters, env });
  const run = (script: string, ...flags: string[]): Promise<Ended> =>
    sous(["run", `Say it: ${KEY}`, "--model", `script/${script}.json`, "--ephemeral", ...flags]);

  const formats: [what: string, script: string, flags: string[]][] = [
    ["an answer on stdout", "says", []],
    ["a tree in JSON", "works", ["--json"]],
    ["a tree as a stream of events", "works", ["--output-format", "stream-json"]],
    ["a tree in JSON whose calls choose names", "names", ["--json"]],
    ["a stream of events whose calls choose names", "names", ["--output-format", "stream-json"]],
    ["an output that follows a schema", "returns", ["--output-schema", "schema.json"]],
  ];
  for (const [what, script, flags] of formats) {
    test(`B3.3: ${what} has a mark instead of the key`, async () => {
      const file = `${script}-${flags.length}.log`;
      const { code, stdout, stderr } = await run(script, ...flags, "--log-file", file, "--log-level", "debug");
      assert.equal(code, 0, stderr);
      assert.ok(stdout.includes(MARK));
      assertHidden(stdout);
      assertHidden(stderr);
      assertHidden(await readFile(join((await place).path, file), "utf8"));
      if (flags.includes("--json")) assert.equal(JSON.parse(stdout).status, "completed");
    });
  }

  test("B3.3: a database has none of the names that calls chose, and neither has what is shown of it", async () => {
    const database = ["--db-path", "names.db"];
    const { code, stderr } = await sous(["run", "Go", "--model", "script/names.json", ...database]);
    assert.equal(code, 0, stderr);
    assertHidden(await readFile(join((await place).path, "names.db"), "latin1"));
    for (const words of [
      ["replay", "--id", "last", "--tree"],
      ["replay", "--id", "last", "--json"],
      ["stats", "--by", "model"],
    ]) {
      const shown = await sous([...words, ...database]);
      assert.deepEqual([shown.code, shown.stderr], [0, ""]);
      assertHidden(shown.stdout);
    }
  });

  test("B3.3: an answer that comes in pieces shows no more than the first letters of the key", async () => {
    const { stdout } = await run("streams", "--output-format", "stream-json");
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const pieces = events.filter(({ type }) => type === "text-delta").map(({ text }) => text);
    assert.ok(pieces.length > 10);
    assert.equal(pieces.join(""), `The key is ${KEY.slice(0, 5)}${MARK}, as you know.`);
  });

  for (const format of ["text", "json"]) {
    test(`B3.3: an error of the provider that quotes the key is shown without it, with ${format}`, async () => {
      const response = {
        error: { message: `bad header x-api-key: ${KEY}`, type: "invalid_request_error" },
        status: 400,
      };
      const fixtures: Fixture[] = [{ match: { userMessage: "Look around" }, response }];
      await using server = await startAimock(fixtures);
      const parameters = ["run", "Look around", "--model", "anthropic/m", "--ephemeral", "--output-format", format];
      const { code, stdout, stderr } = await sous(parameters, { ...server.environment, ...WITH_KEY });
      assert.equal(code, 1);
      assert.ok(stderr.includes(`x-api-key: ${MARK}`) || stdout.includes(`x-api-key: ${MARK}`), stderr);
      assertHidden(stdout);
      assertHidden(stderr);
    });
  }

  test("B3.3: a run that was kept before its secret was known is shown and exported without it", async () => {
    const kept = await sous(["run", `Use ${KEY}`, "--model", "script/works.json", "--db-path", "runs.db"], {});
    assert.ok(kept.stdout.includes(KEY), "nobody knew that it is one");
    const { path } = await place;
    const ways = [
      ["--id", "last", "--full"],
      ["--id", "last", "--json"],
      ["--id", "last", "--export", "md"],
      ...["html", "json"].map((format) => ["--id", "last", "--export", format, "--output", `out.${format}`]),
      ["--id", "last", "--save-cassette", "out.cassette"],
    ];
    const ended = await Promise.all(ways.map((flags) => sous(["replay", ...flags, "--db-path", "runs.db"])));
    for (const { code, stdout, stderr } of ended) {
      assert.equal(code, 0, stderr);
      assertHidden(stdout);
      assertHidden(stderr);
    }
    for (const name of ["html", "json", "cassette"]) {
      const text = await readFile(join(path, `out.${name}`), "utf8");
      assert.ok(text.includes(MARK), name);
      assertHidden(text);
    }
    JSON.parse(await readFile(join(path, "out.json"), "utf8"));
  });
});

test("B3.3: the error of a result in code does not quote the key either", async () => {
  const runtime = createRuntime({ host: { environment: WITH_KEY } });
  const model = scriptedModel({ lead: [[fails("invalid_request", { message: `bad key ${KEY}` })]] });
  const error = await Promise.resolve(runtime.run(agent({ name: "lead", model }), "Go")).then(
    () => assert.fail("it fails"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RunError);
  assert.match(error.message, /bad key \[redacted: ANTHROPIC_API_KEY\]/);
  assertHidden(error.message + JSON.stringify(error.result));
});
