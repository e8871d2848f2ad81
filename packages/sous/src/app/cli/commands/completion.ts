/** `sous completion`: prints the script that makes a shell complete what is typed. */

import { type CommandEntry, OFFERS, type Offer, type OptionEntry } from "../table/entry.ts";
import { COMMAND_TABLE } from "../table/help.ts";
import { readOptions, refusePositionals, wrongWord } from "../table/options.ts";
import { COMPLETION } from "../table/setup-entries.ts";

const COMMAND = "sous completion";

export async function completion(parameters: readonly string[]): Promise<number> {
  const { positionals } = readOptions(COMPLETION, parameters);
  const [given, ...rest] = positionals;
  refusePositionals(COMMAND, rest);
  const shell = SHELLS.find((name) => name === given);
  if (shell === undefined) throw wrongWord(COMMAND, `needs the name of a shell: ${SHELLS.join(", ")}`, given);
  process.stdout.write(COMPLETION_SCRIPTS[shell](COMMAND_TABLE));
  return 0;
}

const SHELLS = ["bash", "zsh", "fish"] as const;

export const COMPLETION_SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/**
 * Lines of shell that ask sous and print one name a line. A name is read by a shell again, so only harmless characters pass:
 * the author of an agent file chooses any name.
 */
const LOOK_UP_RUNS =
  'command sous replay --list --limit 30 --json 2>/dev/null | command sed -n \'s/^ *"id": "\\([0-9A-Z]*\\)",*$/\\1/p\'';

const LOOK_UP_AGENTS =
  'command sous agents list --json 2>/dev/null | command sed -n \'s/^ *"name": "\\([A-Za-z0-9][A-Za-z0-9._-]*\\)",*$/\\1/p\'';

/** The candidates for a word: one of a few words, or names that the shell looks up. */
type Candidates = { readonly words?: readonly string[] | undefined; readonly offers?: Offer | undefined };

function candidatesOf({ value, words }: OptionEntry): Candidates {
  return { words, offers: value && OFFERS[value] };
}

function optionsOf({ groups }: CommandEntry): OptionEntry[] {
  return groups.flatMap(({ options }) => options);
}

/** The words after a command that have names to offer behind them. */
function offering({ words = [] }: CommandEntry): { name: string; offers: Offer }[] {
  return words.flatMap(({ name, offers }) => (offers === undefined ? [] : [{ name, offers }]));
}

/** Puts the text in single quotes, for any of the three shells; no text that is quoted here has a backslash before a quote. */
function quote(text: string, escaped = "'\\''"): string {
  return `'${text.replaceAll("'", escaped)}'`;
}

/** One function that looks at the words so far. */
function bashScript(table: readonly CommandEntry[]): string {
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
${table.flatMap(bashValues).join("\n")}
      *)
        case "$command" in
${table.map(bashWords).join("\n")}
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

/** Completions behind an option that takes a value, and behind a word. */
function bashValues(entry: CommandEntry): string[] {
  const valued = optionsOf(entry).filter(({ value }) => value !== undefined);
  return [
    ...valued.map((option) => bashCase(entry, spellings(option), candidatesOf(option))),
    ...offering(entry).map(({ name, offers }) => bashCase(entry, [name], { offers })),
  ];
}

function bashCase({ name }: CommandEntry, before: readonly string[], { words, offers }: Candidates): string {
  const action =
    words !== undefined ? `words="${words.join(" ")}"` : offers === undefined ? "return" : `offer=${offers}`;
  return `      ${before.map((each) => `"${name} ${each}"`).join(" | ")}) ${action} ;;`;
}

function spellings({ name, short }: OptionEntry): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

/** Options, and before a dash what the command takes without one. */
function bashWords(entry: CommandEntry): string {
  const { name, words = [], offers } = entry;
  const options = optionsOf(entry).map((option) => `--${option.name}`);
  const first = words.map((word) => word.name).join(" ");
  const isFirst = first === "" ? "" : `; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="${first}"`;
  const other = offers === undefined ? "" : `; [[ $current == -* ]] || offer=${offers}`;
  return `          ${name}) words="${options.join(" ")}"${isFirst}${other} ;;`;
}

/** One list of arguments for each command, with what each option is for. */
function zshScript(table: readonly CommandEntry[]): string {
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
${table.map(zshCase).join("\n")}
  esac
}

if [[ $funcstack[1] == _sous ]]; then
  _sous "$@"
else
  compdef _sous sous
fi
`;
}

function zshCase(entry: CommandEntry): string {
  const { name, words, offers } = entry;
  const other = offers === undefined ? [] : [quote(`*:word:${zshAction({ offers })}`)];
  const specs = [...optionsOf(entry).map(zshOption), ...(words === undefined ? other : zshWords(entry, words))];
  const lines = specs.map((spec) => `        ${spec}`).join(" \\\n");
  return `    ${name === "run" ? "run | -p" : name})\n      _arguments \\\n${lines}\n      ;;`;
}

function zshWords(entry: CommandEntry, words: NonNullable<CommandEntry["words"]>): string[] {
  const first = quote(`1:word:(${words.map(({ name }) => name).join(" ")})`);
  const cases = offering(entry).map(({ name, offers }) => `${name}) ${zshAction({ offers })} ;;`);
  return cases.length === 0 ? [first] : [first, quote(`*:word:{ case $words[2] in ${cases.join(" ")} esac }`)];
}

/** \`(-m --model)'{-m,--model}'[text]:P/M:action\`; colons and brackets would end a part too early. */
function zshOption(option: OptionEntry): string {
  const { name, short, value, about } = option;
  const text = about.replaceAll(/[[\]:\\]/g, "\\$&");
  const argument = value === undefined ? "" : `:${value.replaceAll(":", "\\:")}:${zshAction(candidatesOf(option))}`;
  const tail = `[${text}]${argument}`;
  if (short === undefined) return quote(`--${name}${tail}`);
  return `'(-${short} --${name})'{-${short},--${name}}${quote(tail)}`;
}

function zshAction({ words, offers }: Candidates): string {
  if (words !== undefined) return `(${words.join(" ")})`;
  return offers === undefined ? " " : { file: "_files", run: "_sous_runs", agent: "_sous_agents" }[offers];
}

/** One line for each command, option and word. */
function fishScript(table: readonly CommandEntry[]): string {
  return `# Completion of sous for fish. In ~/.config/fish/config.fish: sous completion fish | source

function __sous_runs
  echo last
  ${LOOK_UP_RUNS}
end

function __sous_agents
  ${LOOK_UP_AGENTS}
end

complete -c sous -f
${table.map(({ name, about }) => `complete -c sous -n __fish_use_subcommand -a ${name} -d ${fishText(about)}`).join("\n")}
${table.flatMap(fishLines).join("\n")}
`;
}

function fishLines(entry: CommandEntry): string[] {
  const { name, words = [], offers } = entry;
  const when = (condition: string): string => `complete -c sous -n '__fish_seen_subcommand_from ${name}${condition}'`;
  const names = words.map((word) => word.name).join(" ");
  const isFirst = when(`; and not __fish_seen_subcommand_from ${names}`);
  return [
    ...words.map((word) => `${isFirst} -a ${word.name} -d ${fishText(word.about)}`),
    ...offering(entry).map((word) => `${when(`; and __fish_seen_subcommand_from ${word.name}`)} ${fishAction(word)}`),
    ...(offers === undefined ? [] : [`${when("")} ${fishAction({ offers })}`]),
    ...optionsOf(entry).map((option) => `${when("")} ${fishOption(option)}`),
  ];
}

function fishOption(option: OptionEntry): string {
  const { name, short, value, about } = option;
  const { words, offers } = candidatesOf(option);
  const names = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`;
  const isOpen = words === undefined && offers === undefined;
  const argument = value === undefined ? "" : isOpen ? " -x" : ` -r ${fishAction({ words, offers })}`;
  return `${names}${argument} -d ${fishText(about)}`;
}

function fishAction({ words, offers }: Candidates): string {
  if (words !== undefined) return `-fa ${quote(words.join(" "))}`;
  return offers === "file" ? "-F" : `-fa '(__sous_${offers}s)'`;
}

/** fish escapes a quote between quotes in its own way. */
function fishText(about: string): string {
  return quote(about.replaceAll("\\", "\\\\"), "\\'");
}
