/** Schemas and answers built to be slow: what a call, a file or a child gives cannot stop the process. */

import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { UserError } from "../../../src/core/errors.ts";
import type { Run } from "../../../src/core/run.ts";
import type { Parsed } from "../../../src/core/schema.ts";
import { parseOutput } from "../../../src/runtime/loop/parse-output.ts";
import { compileSchema } from "../../../src/runtime/schema/compile.ts";
import { HOSTILE_SCHEMAS, hostileSchemas } from "../../figures/r16-schemas.ts";
import { runProcess, scriptFolder } from "../../support/app/cli/run-process.ts";

/** Enough for every row that takes exponential or quadratic time in a backtracking engine. */
const SIZE = 1000;

suite("B2.1: an answer and its schema are decided in bounded steps", () => {
  for (const { name, schema, answer } of hostileSchemas(SIZE)) {
    test(`B2.1: ${name} is decided or refused`, async () => {
      const decided = await decide(schema, answer).catch((error: unknown) => {
        assert.ok(error instanceof UserError, String(error));
        assert.match(error.message, /^This JSON Schema cannot be used: /);
      });
      if (decided?.ok === false) assert.ok(decided.problems.join("\n").length < 10_000, "and a model can read why");
    });
  }

  const disguises = [
    { "~standard": null },
    { "~standard": { vendor: "valibot" }, type: "string" },
    { "~standard": { version: 1, vendor: "zod", validate: {}, jsonSchema: { input: 1 } }, type: "string" },
    { jsonSchema: { type: "string" }, validate: true, type: "string" },
    { jsonSchema: null, validate: null },
    JSON.parse('{"jsonSchema":{"then":1},"validate":{},"__proto__":{"~standard":{}}}'),
  ];
  for (const schema of disguises) {
    test(`B2.1: data that looks like the schema of a library is data: ${JSON.stringify(schema)}`, async () => {
      const isText = "type" in schema;
      assert.equal((await decide(schema, "1")).ok, !isText);
      assert.equal((await decide(schema, '"text"')).ok, true);
    });
  }

  test("B2.1: long checks of many children are made one after the other, and end when the run is stopped", async () => {
    const schema = await compileSchema({ type: "string", pattern: "^(a+)+$" });
    const stop = new AbortController();
    const value = `${"a".repeat(2_000_000)}!`;
    const checks = Array.from({ length: 20 }, async () => schema.parse(value, stop.signal));
    const first = await checks[0];
    assert.equal(first?.ok, false);
    stop.abort(new Error("stopped"));
    const [, ...others] = await Promise.allSettled(checks);
    assert.ok(
      others.slice(1).every((each) => each.status === "rejected"),
      "a timer or a signal is heard between two of them",
    );
  });
});

async function decide(schema: object, answer: string): Promise<Parsed> {
  const profile = { output: await compileSchema(schema) };
  const run = { cutText: "", text: answer, profile, scope: new AbortController().signal };
  return parseOutput(run as unknown as Run);
}

suite("B2.1: the end of a command with slow schemas", { concurrency: true }, () => {
  const tasks = HOSTILE_SCHEMAS.slice(0, 8).map(({ schema }, index) => ({
    label: `child${index}`,
    task_prompt: "Answer.",
    output_schema: schema,
  }));
  const delegation = { calls: [{ tool: "parallel_subagent", input: { tasks, max_concurrent: 8 } }] };
  const scripts = scriptFolder({
    answers: {
      sous: [delegation, { ending: "hangs" }],
      "sous/*": [{ text: HOSTILE_SCHEMAS[0]?.answer }, { text: HOSTILE_SCHEMAS[5]?.answer }],
    },
  });
  after(async () => (await scripts)[Symbol.asyncDispose]());

  test("B2.1: --timeout ends a command with schemas that children cannot answer in time", async () => {
    const { path: cwd } = await scripts;
    const flags = ["--model", "script/answers.json", "--ephemeral", "--timeout", "1s"];
    const ended = await runProcess({ cwd, parameters: ["run", "Go.", ...flags] });
    assert.deepEqual([ended.code, ended.signal], [6, null], ended.stderr);
  });

  test("B2.1: SIGTERM ends a command with schemas that children cannot answer in time", async () => {
    const { path: cwd } = await scripts;
    const flags = ["--model", "script/answers.json", "--ephemeral", "--log-level", "info"];
    const acts = [{ at: /subagent\.spawn/, act: "SIGTERM" }] as const;
    const ended = await runProcess({ cwd, parameters: ["run", "Go.", ...flags], acts });
    assert.deepEqual([ended.code, ended.signal], [143, null], ended.stderr);
  });
});
