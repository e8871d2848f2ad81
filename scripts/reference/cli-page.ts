/** The page of the command line: every command with its examples, words and options, from the table that help is made from. */

import type { CommandEntry, OptionEntry } from "../../packages/sous/src/app/cli/table/entry.ts";
import { COMMAND_TABLE } from "../../packages/sous/src/app/cli/table/help.ts";
import { page, prose, table, wrap } from "./markdown.ts";

export function cliPage(): string {
  const overview = table(
    ["command", "what it is for"],
    COMMAND_TABLE.map(({ name, about }) => [`[\`sous ${name}\`](#sous-${name})`, prose(about)]),
  );
  const intro =
    "Every command and every option. `sous COMMAND --help` says the same in a terminal. The answer is on stdout, everything else on stderr. What a command ends with is in [exit codes](exit-codes.md).";
  const shared = sharedOptions();
  return page("Reference: the command line", intro, [
    overview,
    ...COMMAND_TABLE.map((command) => section(command, shared)),
    "## Options of several commands",
    table(["option", "what it does"], shared.map(optionRow)),
  ]);
}

/** Options that more than one command has, in the same words. */
function sharedOptions(): OptionEntry[] {
  const options = COMMAND_TABLE.flatMap(({ groups }) => groups.flatMap((group) => group.options));
  return options.filter((option, index) => {
    const same = options.filter((other) => isSame(option, other));
    return same.length > 1 && options.findIndex((other) => isSame(option, other)) === index;
  });
}

function isSame(one: OptionEntry, other: OptionEntry): boolean {
  return one.name === other.name && one.about === other.about;
}

function section({ name, about, text, usage, examples, words, groups }: CommandEntry, shared: OptionEntry[]): string {
  const lines = usage.map((line) => `sous ${line}`);
  const isShared = (option: OptionEntry): boolean => shared.some((other) => isSame(option, other));
  const own = groups.map(({ title, options }) => ({ title, options: options.filter((each) => !isShared(each)) }));
  const namesIn = (isServing: boolean): string =>
    groups
      .filter(({ title }) => title.endsWith("with serve") === isServing)
      .flatMap(({ options }) => options.filter(isShared).map((option) => `\`--${option.name}\``))
      .join(", ");
  const serving = namesIn(true);
  return [
    `## sous ${name}`,
    wrap(`${prose(about.slice(0, 1).toUpperCase() + about.slice(1))}.`),
    ...text.map((paragraph) => wrap(prose(paragraph))),
    block([...lines, "", "# examples", ...examples]),
    ...(words === undefined ? [] : [words.map((word) => `- \`${word.name}\`: ${prose(word.about)}`).join("\n")]),
    ...own
      .filter(({ options }) => options.length > 0)
      .map(({ title, options }) => table([title, "what it does"], options.map(optionRow))),
    wrap(
      `[Options of several commands](#options-of-several-commands): ${namesIn(false)}${serving === "" ? "" : `; with serve also ${serving}`}.`,
    ),
  ].join("\n\n");
}

/** The words of a value are named where the sentence does not name them. */
function optionRow({ name, short, value, words = [], about }: OptionEntry): string[] {
  const isSaid = words.length === 0 || words.every((word) => about.includes(word));
  const after = isSaid ? (value ?? "") : words.join("|");
  const names = `\`--${name}${after === "" ? "" : ` ${after}`}\``;
  return [short === undefined ? names : `${names}, \`-${short}\``, prose(about)];
}

function block(lines: readonly string[]): string {
  return `\`\`\`sh\n${lines.join("\n")}\n\`\`\``;
}
