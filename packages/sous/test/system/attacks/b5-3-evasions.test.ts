/** Attempts to run a denied command, and to run another command under a rule that allows one, judged by what happened. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import { type Command, calling, type Flags, openCommand, saying } from "../../support/attacks/whole-command.ts";
import { LISTED_EVASIONS } from "./b5-3-evasion-forms.ts";
import { generatedEvasions, generatedWidenings } from "./b5-3-generated-forms.ts";
import { SPELLED_CODE, SPELLED_EVASIONS } from "./b5-3-spelled-forms.ts";
import { ALLOWED_RULES, LISTED_WIDENINGS } from "./b5-3-widening-forms.ts";
import { LINKED_EVASIONS, LINKS, SCRIPT_FILES, WRAPPED_EVASIONS, WRAPPER_FILES } from "./b5-3-wrapper-forms.ts";

/** Runs all of them in one chat with the real terminal; gives the attempts whose marker was made. */
async function markersOf(attempts: readonly string[], flags: Flags, configuration: string): Promise<Set<string>> {
  await using command = await openCommand({ "home/.config/sous/config.yaml": configuration });
  const marks = join(command.root, "marks");
  mkdirSync(marks);
  const tools = writeTools(command);
  const made = attempts.map((text, index) =>
    text
      .replaceAll("ROOT", command.root)
      .replaceAll("$PWD/M", "M")
      .replaceAll(/\bM\b/g, join(marks, `m${index}`)),
  );
  const calls = made.map((text) => ["terminal", { command: text, timeout: 5 }] as const);
  const answers = Array.from({ length: Math.ceil(calls.length / 50) }, (_, at) =>
    calling(...calls.slice(at * 50, at * 50 + 50)),
  );
  const env = { PATH: `${tools}:${command.env.PATH}` };
  const { events } = await command.run({ sous: [...answers, saying("Done.")] }, flags, { env });
  assert.equal(events.filter(({ type }) => type === "tool-call-end").length, attempts.length);
  return new Set(readdirSync(marks).map((name) => attempts[Number(/\d+/.exec(name)?.[0])] ?? name));
}

/** The folder of the wrappers. The links lie in the repository. */
function writeTools({ path, root, write }: Command): string {
  for (const [name, script] of Object.entries(WRAPPER_FILES)) {
    write(`tools/${name}`, script);
    chmodSync(join(path, "tools", name), 0o755);
  }
  for (const folder of ["deep/er", "script"]) mkdirSync(join(root, folder), { recursive: true });
  for (const [name, script] of Object.entries(SCRIPT_FILES)) writeFileSync(join(root, name), script, { mode: 0o755 });
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(root, name));
  return join(path, "tools");
}

/** One run for all of them, and one row for each. */
function judge(attempts: readonly string[], run: (attempts: readonly string[]) => Promise<Set<string>>): void {
  let made: Set<string> | undefined;
  before(async () => {
    made = await run(attempts);
  });
  for (const attempt of attempts)
    test(`${JSON.stringify(attempt)} makes no marker`, () => assert.equal(made?.has(attempt), false));
}

/** A few of them, spread over the list. */
function some(attempts: readonly string[], every: number): string[] {
  return attempts.filter((_, index) => index % every === 0);
}

suite("B5.3: no form of a denied command makes its marker, also with --yes", () => {
  const evasions = new Set([...LISTED_EVASIONS, ...generatedEvasions(9, 80)]);
  const deny = 'permissions:\n  - deny: "terminal(touch*)"\n';
  judge([...evasions], (attempts) => markersOf(attempts, { yes: true }, deny));

  test("every form makes the marker without the rule, so the rows above can fail", async () => {
    const tried = some(LISTED_EVASIONS.slice(0, 100), 8);
    const made = await markersOf(tried, { yes: true }, "");
    assert.ok(made.size >= tried.length * 0.7, `${made.size} of ${tried.length}`);
  });
});

suite("B5.3: no form makes a rule that allows one command allow another", () => {
  const widenings = new Set([...LISTED_WIDENINGS, ...generatedWidenings(9, 50)]);
  const allow = ALLOWED_RULES.map((pattern) => `terminal(${pattern})`);
  judge([...widenings], (attempts) => markersOf(attempts, { allow }, ""));

  test("every form makes the marker with a rule for every command, so the rows above can fail", async () => {
    const tried = some(LISTED_WIDENINGS, 8);
    const made = await markersOf(tried, { allow: ["terminal"] }, "");
    assert.ok(made.size >= tried.length * 0.6, `${made.size} of ${tried.length}`);
  });
});

suite("B5.3: no program that is not known starts a denied command, and no link leads to one", () => {
  const attempts = [...WRAPPED_EVASIONS, ...LINKED_EVASIONS];
  const deny = 'permissions:\n  - deny: "terminal(touch*)"\n';
  const ask = 'permissions:\n  - ask: "terminal(touch*)"\n  - allow: "terminal(*)"\n';
  judge(attempts, (all) => markersOf(all, { yes: true }, deny));

  test("a rule that asks is met by a share of them, too, where another allows every command", async () => {
    assert.deepEqual([...(await markersOf(some(attempts, 3), {}, ask))], []);
  });

  test("terminal(*) alone allows no code behind a wrapper", async () => {
    assert.deepEqual([...(await markersOf(some(WRAPPED_EVASIONS, 3), { allow: ["terminal(*)"] }, ""))], []);
  });

  test("every form makes the marker without the rule, so the rows above can fail", async () => {
    const tried = [...WRAPPED_EVASIONS.filter((text) => text.includes("zokrun run --")), ...LINKED_EVASIONS];
    const made = await markersOf(tried, { yes: true }, "");
    assert.ok(made.size >= tried.length * 0.7, `${made.size} of ${tried.length}`);
  });
});

/** One way to begin with a wrapper, `zokrun run --`, is enough to show that a form works. */
const OTHER_BEGINNINGS = /\b(?:veyl|with-keys|tmp_env4)\b|\bzokrun (?!run -- )/;

suite("B5.3: no spelling of a program, no glob and no place of its code hides a denied command", () => {
  const deny = 'permissions:\n  - deny: "terminal(touch*)"\n';
  const ask = 'permissions:\n  - ask: "terminal(touch*)"\n  - allow: "terminal(*)"\n';
  judge(some(SPELLED_EVASIONS, 2), (all) => markersOf(all, { yes: true }, deny));

  test("a rule that asks is met by a share of them, too, where another allows every command", async () => {
    assert.deepEqual([...(await markersOf(some(SPELLED_EVASIONS, 5), {}, ask))], []);
  });

  test("terminal(*) alone allows no such code behind a wrapper", async () => {
    assert.deepEqual([...(await markersOf(some(SPELLED_CODE, 5), { allow: ["terminal(*)"] }, ""))], []);
  });

  test("every form makes the marker without the rule, so the rows above can fail", async () => {
    const tried = some(
      SPELLED_EVASIONS.filter((text) => !OTHER_BEGINNINGS.test(text)),
      2,
    );
    const made = await markersOf(tried, { yes: true }, "");
    const missed = tried.filter((text) => !made.has(text));
    assert.ok(made.size >= tried.length * 0.7, `${made.size} of ${tried.length}, without ${missed.join(" and ")}`);
  });
});
