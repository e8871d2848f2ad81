/** Schemas in the forms of the AI SDK: with a check of their own, loaded later, or made by a function. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";

const NUMBER = { type: "number" };

function checkPositive(value: unknown) {
  return typeof value === "number" && value > 0
    ? { success: true, value: value * 2 }
    : { success: false, error: new Error(`${String(value)} is not positive`) };
}

test("a check that comes with a JSON Schema decides, whether it answers at once or later", async () => {
  for (const validate of [checkPositive, async (value: unknown) => checkPositive(value)]) {
    const schema = await compileSchema({ jsonSchema: NUMBER, validate });
    assert.deepEqual(schema.jsonSchema, NUMBER);
    assert.deepEqual(await schema.parse(4), { ok: true, value: 8 });
    assert.deepEqual(await schema.parse(-4), { ok: false, problems: ["-4 is not positive"] });
  }
});

test("a JSON Schema that is loaded later is used with its check, and without one it is checked by its rules", async () => {
  const checked = await compileSchema({ jsonSchema: Promise.resolve(NUMBER), validate: checkPositive });
  assert.deepEqual(checked.jsonSchema, NUMBER);
  assert.deepEqual(await checked.parse(1), { ok: true, value: 2 });
  const plain = await compileSchema({ jsonSchema: Promise.resolve(NUMBER), validate: undefined });
  assert.deepEqual(await plain.parse(1), { ok: true, value: 1 });
  assert.equal((await plain.parse("1")).ok, false);
});

test("a JSON Schema with the keyword then is no promise", () => {
  const jsonSchema = JSON.parse('{ "if": { "type": "number" }, "then": { "minimum": 3 } }');
  const schema = compileSchema({ jsonSchema, validate: undefined });
  assert.ok(!(schema instanceof Promise));
  assert.deepEqual(schema.parse(3), { ok: true, value: 3 });
  assert.ok(!(schema.parse(2) instanceof Promise));
  assert.deepEqual(schema.parse("a"), { ok: true, value: "a" });
});

test("a function stands for the schema that it makes, and is asked once", async () => {
  let calls = 0;
  const given = () => {
    calls += 1;
    return { jsonSchema: NUMBER, validate: checkPositive };
  };
  for (const value of [1, 2])
    assert.deepEqual(await (await compileSchema(given)).parse(value), { ok: true, value: value * 2 });
  assert.equal(calls, 1);
});

test("a schema that could not be loaded is loaded again by the next call, and a loaded one is kept", async () => {
  let calls = 0;
  const given = {
    get jsonSchema() {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error("the network is down")) : Promise.resolve(NUMBER);
    },
    validate: undefined,
  };
  await assert.rejects(async () => compileSchema(given), /the network is down/);
  assert.deepEqual((await compileSchema(given)).jsonSchema, NUMBER);
  assert.ok(!(compileSchema(given) instanceof Promise));
  assert.equal(calls, 2);
});
