/** The reference of `--json` and `stream-json` is what real commands print: exactly these fields, with these types. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import {
  ERROR_JSON,
  INIT_JSON,
  type JsonField,
  LINE_JSON,
  RESULT_JSON,
} from "../../../../src/app/cli/table/json-table.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

const child = { tool: "subagent", input: { label: "scout", task_prompt: "Look." } };
const place = scriptFolder({
  tree: { sous: [{ calls: [child] }, { text: '{"n": 1}' }], "sous/scout": [{ text: "Seen." }] },
  denied: { sous: [{ calls: [{ tool: "terminal", input: { command: "ls" } }] }, { text: "Not allowed." }] },
});
after(async () => (await place)[Symbol.asyncDispose]());

/** Commands that end in different ways: together they have every field. */
const ENDINGS: readonly [what: string, flags: readonly string[], code: number][] = [
  ["a tree with a value", ["--model", "script/tree.json", "--output-schema", '{"type":"object"}'], 0],
  ["a refused action", ["--model", "script/denied.json"], 7],
  ["a question that waits", ["--model", "script/denied.json", "--park"], 7],
  ["a broken script", ["--model", "script/gone.json"], 1],
  ["a missing key", ["--model", "anthropic/claude-sonnet-4-5"], 4],
];

suite("J1: the JSON of a run", () => {
  test("J1: --json has the fields of the reference and no others", async () => {
    const seen = new Set<string>();
    for (const [what, flags, code] of ENDINGS) {
      const ended = await ask(["--json", ...flags]);
      assert.equal(ended.code, code, `${what}: ${ended.stderr}`);
      const fields = fieldsOf(JSON.parse(ended.stdout), RESULT_JSON);
      assert.deepEqual(strange(fields, RESULT_JSON), [], what);
      assert.deepEqual(missing(fields, RESULT_JSON), [], what);
      for (const [name] of fields) seen.add(name);
    }
    assert.deepEqual(
      // Only a tool of a server asks by itself: mcp-tools.test.ts has one.
      RESULT_JSON.map(({ name }) => name).filter((name) => !seen.has(name) && name !== "denied[].tool_reason"),
      [],
    );
  });

  test("J1: stream-json has the fields of the reference and no others", async () => {
    for (const [what, flags] of ENDINGS) {
      const { stdout } = await ask(["--output-format", "stream-json", ...flags]);
      const lines: Record<string, unknown>[] = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      assert.deepEqual(
        lines.map(({ n }) => n),
        lines.map((_, index) => index + 1),
      );
      for (const line of lines) {
        const own = line.type === "init" ? INIT_JSON : line.type === "result" ? RESULT_JSON : [];
        const known = [...LINE_JSON, ...own];
        const fields = fieldsOf(line, known);
        assert.deepEqual(missing(fields, known), [], `${what}: ${String(line.type)}`);
        if (own.length > 0) assert.deepEqual(strange(fields, known), [], `${what}: ${String(line.type)}`);
      }
      assert.deepEqual([lines.at(0)?.type, lines.at(-1)?.type], [lines.length === 1 ? "result" : "init", "result"]);
    }
  });
});

test("J1: the id of a run that never began is null, and its stream is a result alone", async () => {
  const object = await ask(["--json", "--model", "anthropic/claude-sonnet-4-5"]);
  assert.equal(JSON.parse(object.stdout).run_id, null);
  const { stdout } = await ask(["--output-format", "stream-json", "--model", "no-slash"]);
  const [line, ...others] = stdout.trimEnd().split("\n");
  const { run_id, agent_id, path, type } = JSON.parse(line ?? "");
  assert.deepEqual(
    { run_id, agent_id, path, type, others },
    { run_id: null, agent_id: null, path: null, type: "result", others: [] },
  );
});

test("J1: a command that cannot do what it was asked prints an error with the fields of the reference", async () => {
  const { path: cwd } = await place;
  for (const parameters of [
    ["resume", "01K2H0"],
    ["replay", "--id", "01K2H0"],
    ["agents", "show", "none"],
  ]) {
    const { stdout, code } = await runInProcess({ cwd, parameters: [...parameters, "--json"] });
    const object = JSON.parse(stdout);
    const fields = fieldsOf(object, ERROR_JSON);
    assert.deepEqual([strange(fields, ERROR_JSON), missing(fields, ERROR_JSON)], [[], []]);
    assert.deepEqual([object.schema, object.error.exit_code], ["sous.error.v1", code]);
  }
});

async function ask(flags: readonly string[]) {
  const { path: cwd } = await place;
  const storage = flags.includes("--park") ? ["--db-path", join(cwd, "runs.db")] : ["--ephemeral"];
  return runInProcess({ cwd, parameters: ["run", "Look around", "--quiet", ...storage, ...flags] });
}

/** Every field with its type, by its path. What the reference calls `any` is not looked into. */
function fieldsOf(value: unknown, known: readonly JsonField[], at = ""): [name: string, type: string][] {
  if (Array.isArray(value)) return value.flatMap((each) => fieldsOf(each, known, `${at}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = at === "" ? key : `${at}.${key}`;
    const isAny = known.some((field) => field.name === name && field.type.startsWith("any"));
    const own: [string, string] = [name, typeOf(inner)];
    return isAny ? [own] : [own, ...fieldsOf(inner, known, name)];
  });
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (!Array.isArray(value)) return typeof value;
  return typeof value[0] === "string" ? "string[]" : "object[]";
}

/** Fields that are not in the reference, or have another type there. An empty list fits every list. */
function strange(fields: readonly [name: string, type: string][], known: readonly JsonField[]): string[] {
  return fields
    .filter(([name, type]) => {
      const types = known.filter((field) => field.name === name).flatMap((field) => field.type.split(" | "));
      const fits = types.includes(type) || types.includes("any") || (type === "object[]" && types.includes("string[]"));
      return !fits;
    })
    .map(([name, type]) => `${name}: ${type}`);
}

/** Fields at the top that are not there: these are in every object. */
function missing(fields: readonly [name: string, type: string][], known: readonly JsonField[]): string[] {
  const present = new Set(fields.map(([name]) => name));
  return known.map(({ name }) => name).filter((name) => !/[.[]/.test(name) && !present.has(name));
}
