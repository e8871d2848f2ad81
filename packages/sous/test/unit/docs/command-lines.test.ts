/** Every command line in the docs can be typed: its command exists, and so do its options. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { COMMAND_TABLE } from "../../../src/app/cli/table/help.ts";
import { type Page, pages } from "../../support/docs/markdown-files.ts";

suite("K1: the command lines in the docs can be typed", () => {
  for (const page of pages().filter(({ path }) => path !== "CHANGELOG.md"))
    test(`the command lines of ${page.path} can be typed`, () =>
      assert.deepEqual(commandLines(page).flatMap(problemsOf), []));
});

test("a command that there is not, and an option that it does not take, are found", () => {
  const text =
    "```sh\nsous fly --high\nnpm x | sous run 'sous --x' --tempo 3 --json\n```\n`sous demo --color=never --list`\n";
  assert.deepEqual(commandLines({ path: "x.md", text }).flatMap(problemsOf), [
    "sous fly: there is no such command",
    "sous run: there is no --tempo",
    "sous demo: there is no --list",
  ]);
});

/** What stands behind `sous` in blocks of shell, in transcripts and in code within text. */
function commandLines({ text }: Page): string[] {
  const blocks = [...text.matchAll(/```(?:sh|text)\n(.*?)```/gs)].flatMap(([, block = ""]) => block.split("\n"));
  const typed = blocks.filter(
    (line) => /^(\$ )?([^#"']*\| )?sous\b/.test(line) && !/^sous\S*( \w+)?(:| {2})/.test(line),
  );
  const prose = text.replaceAll(/```.*?```/gs, "");
  const inline = [...prose.matchAll(/`([^`\n]*)`/g)]
    .map(([, code = ""]) => code)
    .filter((code) => /^sous \w/.test(code));
  return [...typed, ...inline].map((line) => withoutQuotes(line).replace(/#.*$/, ""));
}

/** What is between quotes is for sous, not for a shell. */
function withoutQuotes(line: string): string {
  return line.replaceAll(/"[^"]*"|'[^']*'/g, "…");
}

function problemsOf(line: string): string[] {
  const [, rest = ""] = /\bsous(?: (.*))?$/.exec(line) ?? [];
  const [first = ""] = rest.split(/[ |>]/);
  if (first === "" || first.startsWith("-") || /^[A-Z…]/.test(first)) return [];
  const entry = COMMAND_TABLE.find(({ name }) => name === first);
  if (entry === undefined) return [`sous ${first}: there is no such command`];
  const known = entry.groups.flatMap(({ options }) => options.map(({ name }) => name));
  const given = [...(rest.split(/[|>]/)[0] ?? "").matchAll(/(?<= )--([a-z-]+)/g)].map(([, name = ""]) => name);
  return given.filter((name) => !known.includes(name)).map((name) => `sous ${first}: there is no --${name}`);
}
