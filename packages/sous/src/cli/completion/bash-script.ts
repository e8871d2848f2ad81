/** The completion of bash: one function that looks at the words so far. */

import type { CommandEntry, Offer, OptionEntry } from "../table/command-entry.ts";
import { LOOK_UP_AGENTS, LOOK_UP_RUNS } from "./lookups.ts";

export function bashScript(table: readonly CommandEntry[]): string {
  return `# Completion of sous for bash 4 or newer. In ~/.bashrc: eval "$(sous completion bash)"

_sous_runs() {
  ${LOOK_UP_RUNS}
}

_sous_agents() {
  ${LOOK_UP_AGENTS}
}

_sous() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} words= offer=
  local command=\${COMP_WORDS[1]}
  COMPREPLY=()
  # bash takes --color=always apart, into three words.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ $command == -p ]] && command=run
  if ((COMP_CWORD == 1)); then
    words="${[...table.map(({ name }) => name), "-p", "--help", "--version"].join(" ")}"
  else
    case "$command $before" in
${table.flatMap(valueCases).join("\n")}
      *)
        case "$command" in
${table.map(wordCase).join("\n")}
        esac
        ;;
    esac
  fi
  case $offer in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    run) words="last $(_sous_runs)" ;;
    agent) words="$(_sous_agents)" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sous sous
`;
}

/** What stands behind an option that takes a value. */
function valueCases({ name, groups, words = [] }: CommandEntry): string[] {
  const options = groups.flatMap((group) => group.options).filter(({ value }) => value !== undefined);
  const second = words.filter(({ offers }) => offers !== undefined).map(({ name: word, offers }) => ({ word, offers }));
  return [
    ...options.map((option) => `      ${spellings(name, option)}) ${actionOf(option.words, option.offers)} ;;`),
    ...second.map(({ word, offers }) => `      "${name} ${word}") ${actionOf(undefined, offers)} ;;`),
  ];
}

function spellings(command: string, { name, short }: OptionEntry): string {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])].map((each) => `"${command} ${each}"`).join(" | ");
}

function actionOf(words: readonly string[] | undefined, offers: Offer | undefined): string {
  if (words !== undefined) return `words="${words.join(" ")}"`;
  return offers === undefined ? "return" : `offer=${offers}`;
}

/** Options, and before a dash what the command takes without one. */
function wordCase({ name, groups, words = [], offers }: CommandEntry): string {
  const options = groups.flatMap((group) => group.options).map((option) => `--${option.name}`);
  const first = words.map((word) => word.name).join(" ");
  const isFirst = first === "" ? "" : `; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="${first}"`;
  const other = offers === undefined ? "" : `; [[ $current == -* ]] || offer=${offers}`;
  return `          ${name}) words="${options.join(" ")}"${isFirst}${other} ;;`;
}
