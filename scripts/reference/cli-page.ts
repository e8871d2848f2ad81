/** The page of the command line: every command with its examples, words and options, from the table that help is made from. */

import type { CommandEntry, OptionEntry } from "../../packages/sous/src/cli/table/entry.ts";
import { COMMAND_TABLE } from "../../packages/sous/src/cli/table/help.ts";
import { page, prose, table, wrap } from "./markdown.ts";

export function cliPage(): string {
  const overview = table(
    ["command", "what it is for"],
    COMMAND_TABLE.map(({ name, about }) => [`[\`sous ${name}\`](#sous-${name})`, prose(about)]),
  );
  const intro =
    "Every command and every option. `sous COMMAND --help` says the same in a terminal. The answer is on stdout, everything else on stderr. What a command ends with is in [exit codes](exit-codes.md).";
  return page("Reference: the command line", intro, [overview, ...COMMAND_TABLE.map(section)]);
}

function section({ name, about, text, usage, examples, words, groups }: CommandEntry): string {
  const lines = usage.map((line) => `sous ${line}`);
  return [
    `## sous ${name}`,
    wrap(`${prose(about.slice(0, 1).toUpperCase() + about.slice(1))}.`),
    ...text.map((paragraph) => wrap(prose(paragraph))),
    block([...lines, "", "# examples", ...examples]),
    ...(words === undefined
      ? []
      : [
          table(
            ["word", "what it does"],
            words.map((word) => [`\`${word.name}\``, prose(word.about)]),
          ),
        ]),
    ...groups.map(({ title, options }) => table([title, "value", "what it does"], options.map(optionRow))),
  ].join("\n\n");
}

function optionRow({ name, short, value, words, about }: OptionEntry): string[] {
  const names = short === undefined ? `\`--${name}\`` : `\`--${name}\`, \`-${short}\``;
  const values = words === undefined ? value : words.join(" | ");
  return [names, values === undefined ? "" : `\`${values}\``, prose(about)];
}

function block(lines: readonly string[]): string {
  return `\`\`\`sh\n${lines.join("\n")}\n\`\`\``;
}
