/** Every option of every function is tried with values of every kind: the wrong ones are refused by name, before anything starts. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { readServerOptions } from "../../../src/bridges/mcp/server-options.ts";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import { FLAG, type OptionKinds, TEXT, wordOf } from "../../../src/core/option-kinds.ts";
import { tool } from "../../../src/core/tool.ts";
import { RUN_DOORS } from "../../support/core/option-doors.ts";
import { type Door, model, SAMPLES, type Taken } from "../../support/core/option-samples.ts";
import { outsideDoors } from "../../support/core/outside-doors.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-option-kinds-"));
const DOORS = [...RUN_DOORS, ...outsideDoors(folder)];
after(() => rmSync(folder, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: what JavaScript lets through.
type Any = any;

/** The error of the call, thrown at once or as a rejection, and which of the two. */
async function errorOf(work: () => unknown): Promise<{ error: unknown; isLate: boolean }> {
  let result: Any;
  try {
    result = work();
  } catch (error) {
    return { error, isLate: false };
  }
  try {
    const opened = await result;
    await opened?.[Symbol.asyncDispose]?.();
    return { error: undefined, isLate: true };
  } catch (error) {
    return { error, isLate: true };
  }
}

async function refusesWrongKinds({ open, where, isLate = false }: Door, option: string, taken: Taken): Promise<void> {
  const sentence: RegExp = new RegExp(
    `^${RegExp.escape(where)}(?:\\.|: )${RegExp.escape(option)} must be .+; found .*[^,]$`,
  );
  const wrong = Object.entries(SAMPLES).filter(([kind]) => !taken[0].some((each) => each === kind));
  assert.notEqual(wrong.length, 0);
  for (const [kind, value] of wrong) {
    const refused = await errorOf(() => open({ [option]: value }));
    assert.ok(refused.error instanceof UserError, `${kind}: ${refused.error}`);
    // Without its name a definition cannot be called by it.
    const message = option === "name" ? refused.error.message.replace(/^(\w+)\(\)/, where) : refused.error.message;
    assert.match(message, sentence);
    assert.equal(refused.isLate, isLate, `${kind} is refused at once`);
  }
}

async function takesItsKinds({ open }: Door, option: string, [kinds, ...more]: Taken): Promise<void> {
  for (const value of [...kinds.map((kind) => SAMPLES[kind]), ...more]) {
    const { error } = await errorOf(() => open({ [option]: value }));
    assert.doesNotMatch(String(error), new RegExp(`${RegExp.escape(option)} must be .*; found`));
  }
}

suite("options of a wrong kind", () => {
  for (const each of DOORS)
    for (const [option, taken] of Object.entries(each.options))
      test(`${each.name}: ${option} of a wrong kind is refused before anything starts`, async () => {
        const before = [model.requestCount, readdirSync(folder)];
        await refusesWrongKinds(each, option, taken);
        assert.deepEqual([model.requestCount, readdirSync(folder)], before);
      });
});

suite("options of a right kind", () => {
  for (const each of DOORS)
    for (const [option, taken] of Object.entries(each.options))
      test(`${each.name}: ${option} of a right kind is taken`, () => takesItsKinds(each, option, taken));
});

suite("the sentence about an option of a wrong kind", () => {
  const echo = { name: "echo", description: "Echoes", inputSchema: {}, execute: () => "" };
  const decide = () => undefined;
  for (const [given, message] of [
    [{ rules: [{ allow: "x" }] }, "agent x: rules must be an object with a function decide; found a list"],
    [{ rules: { decide: "allow" } }, "agent x: rules must be an object with a function decide; found an object"],
    [{ rules: decide }, "agent x: rules must be an object with a function decide; found a function"],
    [{ maxTurns: "5" }, 'agent x: maxTurns must be a whole number between 1 and 1000; found "5"'],
    [{ effort: "huge".repeat(100) }, /^agent x: effort must be "none" or .* or "max"; found "(?:huge){15}"$/],
    [{ deny: ["a", 5] }, "agent x: deny must be a list of texts; found a list with 5"],
    [{ deny: "grep" }, "agent x: deny must be a list of texts; found text"],
    [{ hooks: { onEvent: [] } }, "agent x: hooks.onEvent must be a function; found a list"],
    [{ model: Promise.resolve() }, /^agent x: model must be .*; found a promise, which must be awaited first$/],
    [{ name: "a b" }, /^agent\(\): name must be 1 to 48 letters, .*; found "a b"$/],
  ] as const)
    test(String(message), () => {
      assert.throws(() => agent({ name: "x", ...given } as Any), { name: "UserError", message });
    });

  test("a tool with a tier that there is not is refused and not run without a question", () => {
    assert.throws(() => tool({ ...echo, tier: "Confirm" } as Any), {
      name: "UserError",
      message: 'tool echo: tier must be "observe" or "confirm"; found "Confirm"',
    });
  });

  test("a text in the wrong place is not shown, because it may be a secret", () => {
    for (const [given, message] of [
      [{ env: "KEY=hunter2" }, "mcpTools(): the server a: env must be an object of texts; found text"],
      [{ env: ["hunter2"] }, "mcpTools(): the server a: env must be an object of texts; found a list"],
      [{ env: { KEY: 5 } }, 'mcpTools(): the server a: env must be an object of texts; found a number for "KEY"'],
    ] as const)
      assert.throws(() => readServerOptions("mcpTools()", { a: { command: "a", ...given } as Any }), {
        name: "UserError",
        message,
      });
  });
});

test("the compiler refuses a table that is not what the type of the options says", () => {
  type Given = { text?: string; isOn?: boolean | undefined; word?: "a" | "b" };
  const right: OptionKinds<Given> = { text: TEXT, isOn: FLAG, word: wordOf("a", "b") };
  // @ts-expect-error: a text is no flag.
  const other: OptionKinds<Given> = { ...right, isOn: TEXT };
  // @ts-expect-error: a text may be another word.
  const wider: OptionKinds<Given> = { ...right, word: TEXT };
  // @ts-expect-error: one of the words is missing.
  const narrower: OptionKinds<Given> = { ...right, word: wordOf("a") };
  // @ts-expect-error: an option is missing.
  const shorter: OptionKinds<Given> = { text: TEXT, isOn: FLAG };
  // @ts-expect-error: there is no such option.
  const longer: OptionKinds<Given> = { ...right, more: TEXT };
  assert.equal([other, wider, narrower, shorter, longer].length, 5);
});
