/** The completion of zsh: one list of arguments for each command, with what each option is for. */

import type { CommandEntry, Offer, OptionEntry } from "../table/command-entry.ts";
import { LOOK_UP_AGENTS, LOOK_UP_RUNS, quote } from "./lookups.ts";

export function zshScript(table: readonly CommandEntry[]): string {
  return `#compdef sous
# Completion of sous for zsh. In ~/.zshrc, after compinit: eval "$(sous completion zsh)"

_sous_runs() {
  local -a runs
  runs=(last \${(f)"$(${LOOK_UP_RUNS})"})
  compadd -a runs
}

_sous_agents() {
  local -a agents
  agents=(\${(f)"$(${LOOK_UP_AGENTS})"})
  compadd -a agents
}

_sous() {
  local -a commands
  commands=(
${table.map(({ name, about }) => `    ${quote(`${name}:${about}`)}`).join("\n")}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${table.map(commandCase).join("\n")}
  esac
}

if [[ $funcstack[1] == _sous ]]; then
  _sous "$@"
else
  compdef _sous sous
fi
`;
}

function commandCase({ name, groups, words, offers }: CommandEntry): string {
  const specs = [
    ...groups.flatMap((group) => group.options).map(optionSpec),
    ...(words === undefined
      ? offers === undefined
        ? []
        : [quote(`*:word:${actionOf(undefined, offers)}`)]
      : wordSpecs(words)),
  ];
  const lines = specs.map((spec) => `        ${spec}`).join(" \\\n");
  return `    ${name === "run" ? "run | -p" : name})\n      _arguments \\\n${lines}\n      ;;`;
}

function wordSpecs(words: NonNullable<CommandEntry["words"]>): string[] {
  const offers = [...new Set(words.flatMap((word) => (word.offers === undefined ? [] : [word.offers])))];
  const first = quote(`1:word:(${words.map(({ name }) => name).join(" ")})`);
  if (offers.length === 0) return [first];
  const cases = words.flatMap((word) =>
    word.offers === undefined ? [] : [`${word.name}) ${actionOf(undefined, word.offers)} ;;`],
  );
  return [first, quote(`*:word:{ case $words[2] in ${cases.join(" ")} esac }`)];
}

/** \`(-m --model)'{-m,--model}'[text]:P/M:action\`; colons and brackets would end a part too early. */
function optionSpec({ name, short, value, words, offers, about }: OptionEntry): string {
  const text = about.replaceAll(/[[\]:\\]/g, "\\$&");
  const argument = value === undefined ? "" : `:${value.replaceAll(":", "\\:")}:${actionOf(words, offers)}`;
  const tail = `[${text}]${argument}`;
  if (short === undefined) return quote(`--${name}${tail}`);
  return `'(-${short} --${name})'{-${short},--${name}}${quote(tail)}`;
}

function actionOf(words: readonly string[] | undefined, offers: Offer | undefined): string {
  if (words !== undefined) return `(${words.join(" ")})`;
  if (offers === undefined) return " ";
  return { file: "_files", run: "_sous_runs", agent: "_sous_agents" }[offers];
}
