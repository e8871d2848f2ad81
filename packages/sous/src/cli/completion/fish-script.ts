/** The completion of fish: one line for each command, option and word. */

import type { CommandEntry, Offer, OptionEntry } from "../table/command-entry.ts";
import { LOOK_UP_AGENTS, LOOK_UP_RUNS, quote } from "./lookups.ts";

export function fishScript(table: readonly CommandEntry[]): string {
  return `# Completion of sous for fish. In ~/.config/fish/config.fish: sous completion fish | source

function __sous_runs
  echo last
  ${LOOK_UP_RUNS}
end

function __sous_agents
  ${LOOK_UP_AGENTS}
end

complete -c sous -f
${table.map(({ name, about }) => `complete -c sous -n __fish_use_subcommand -a ${name} -d ${text(about)}`).join("\n")}
${table.flatMap(commandLines).join("\n")}
`;
}

function commandLines({ name, groups, words = [], offers }: CommandEntry): string[] {
  const isIt = `complete -c sous -n '__fish_seen_subcommand_from ${name}'`;
  const names = words.map((word) => word.name).join(" ");
  return [
    ...words.map(
      (word) =>
        `complete -c sous -n '__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${names}' -a ${word.name} -d ${text(word.about)}`,
    ),
    ...words.flatMap((word) =>
      word.offers === undefined
        ? []
        : [
            `complete -c sous -n '__fish_seen_subcommand_from ${name}; and __fish_seen_subcommand_from ${word.name}' ${actionOf(undefined, word.offers)}`,
          ],
    ),
    ...(offers === undefined ? [] : [`${isIt} ${actionOf(undefined, offers)}`]),
    ...groups.flatMap((group) => group.options).map((option) => `${isIt} ${optionWords(option)}`),
  ];
}

function optionWords({ name, short, value, words, offers, about }: OptionEntry): string {
  const names = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`;
  const argument =
    value === undefined
      ? ""
      : ` ${words === undefined && offers === undefined ? "-x" : `-r ${actionOf(words, offers)}`}`;
  return `${names}${argument} -d ${text(about)}`;
}

function actionOf(words: readonly string[] | undefined, offers: Offer | undefined): string {
  if (words !== undefined) return `-fa ${quote(words.join(" "))}`;
  return offers === "file" ? "-F" : `-fa '(__sous_${offers}s)'`;
}

/** fish has its own way to put a quote between quotes. */
function text(about: string): string {
  return quote(about.replaceAll("\\", "\\\\"), "\\'");
}
