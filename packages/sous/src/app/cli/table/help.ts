/** Every command of this build, and what `sous --help` prints about all of them or one: less than 80 columns wide. */

import type { CommandEntry, OptionEntry, OptionGroup } from "./entry.ts";
import { CANCEL, WORKER } from "./placing-entries.ts";
import { CHAT, DEMO, RESUME, RUN } from "./run-entries.ts";
import { ACP, MCP } from "./server-entries.ts";
import { AGENTS, COMPLETION, CONFIG_COMMAND, DOCTOR, PERMISSIONS, TRUST } from "./setup-entries.ts";
import { METRICS_COMMAND, REPLAY, STATS } from "./stored-entries.ts";

const COLUMNS = 79;

/** The page of a command, or the one that names them all. */
export function helpOn(command: string | undefined): string {
  const entry = COMMAND_TABLE.find(({ name }) => name === command);
  return entry === undefined ? firstPage() : commandPage(entry);
}

function firstPage(): string {
  return paragraphs(
    [`sous: agents that delegate, such as ${FIRST_EXAMPLE}`],
    twoColumns(COMMAND_TABLE.map(({ name, about }) => [name, about])),
    LAST_LINES,
  );
}

/** The only one, and no heading: with every command the page fits a screen of 24 lines. */
const FIRST_EXAMPLE = 'sous run "Why does npm test fail?"';

const LAST_LINES = [
  "sous COMMAND --help says more; sous --version is the version.",
  "exit codes  0 done  1 failed  2 usage  3 configuration  4 key  5 budget",
  "            6 turns or time  7 consent  8 recording differs  130 143 signal",
];

/** Examples come first. */
function commandPage({ name, about, text, usage, examples, words, groups }: CommandEntry): string {
  return paragraphs(
    [`sous ${name}: ${about}`],
    examples.map((line) => `  ${line}`),
    usage.map((line, index) => `${index === 0 ? "usage:" : "      "} sous ${line}`),
    ...text.map((paragraph) => wrap(paragraph, COLUMNS)),
    ...(words === undefined ? [] : [[`sous ${name} …`, ...twoColumns(words.map((word) => [word.name, word.about]))]]),
    ...optionParagraphs(groups),
  );
}

function optionParagraphs(groups: readonly OptionGroup[]): string[][] {
  const heads = groups.flatMap(({ options }) => options.map((option) => optionHead(option).length));
  const indent = Math.max(...heads) + 4;
  return groups.map(({ title, options }) => [
    title,
    ...twoColumns(
      options.map((option) => [optionHead(option), option.about]),
      indent,
    ),
  ]);
}

/** `-m, --model P/M`, or `    --json` below it. */
function optionHead({ name, short, value }: OptionEntry): string {
  const names = `${short === undefined ? "    " : `-${short}, `}--${name}`;
  return value === undefined ? names : `${names} ${value}`;
}

type Row = readonly [head: string, about: string];

function twoColumns(rows: readonly Row[], indent?: number): string[] {
  const start = indent ?? Math.max(...rows.map(([head]) => head.length)) + 4;
  return rows.flatMap(([head, about]) => {
    const [first = "", ...rest] = wrap(about, COLUMNS - start);
    const below = rest.map((line) => " ".repeat(start) + line);
    return [`  ${head}`.padEnd(start) + first, ...below];
  });
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

function paragraphs(...parts: readonly (readonly string[])[]): string {
  return `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

export const COMMAND_TABLE: readonly CommandEntry[] = [
  CHAT,
  RUN,
  DEMO,
  REPLAY,
  RESUME,
  CANCEL,
  WORKER,
  STATS,
  METRICS_COMMAND,
  AGENTS,
  ACP,
  MCP,
  CONFIG_COMMAND,
  PERMISSIONS,
  TRUST,
  DOCTOR,
  COMPLETION,
];
