// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shell reads them.
/** Generated commands, read by our parser and run by a real bash in a folder of markers: both must see the same. */

import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";
import {
  type Redirection,
  readShellCommand,
  type SimpleCommand,
} from "../../../../src/runtime/rights/shell-command.ts";
import type { ShellWord } from "../../../../src/runtime/rights/shell-words.ts";

export type TrialOptions = { readonly seed: number; readonly commands: number };
export type TrialReport = { understood: number; ran: number; different: string[] };

const PROGRAMS =
  "p q git npm touch cat echo printf test [ true false pwd kill type timeout env nice nohup xargs sh time".split(" ");

/** Programs that say what they were called with, and nothing that does anything. */
export async function tryCommands({ seed, commands }: TrialOptions): Promise<TrialReport> {
  const top = mkdtempSync(join(tmpdir(), "sous-shell-"));
  try {
    makeStubs(join(top, "bin"));
    const texts = fc.sample(commandText, { seed, numRuns: commands });
    const report: TrialReport = { understood: 0, ran: 0, different: [] };
    const queue = texts.map((text, index) => ({ text, folder: join(top, String(index)) }));
    const work = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop())
        await tryOne(next.text, next.folder, top, report);
    };
    await Promise.all([work(), work(), work()]);
    return report;
  } finally {
    rmSync(top, { recursive: true, maxRetries: 5 });
  }
}

function makeStubs(bin: string): void {
  mkdirSync(bin);
  const stub = join(bin, "stub");
  writeFileSync(stub, `#!/bin/sh\nprintf '%s\\0' "\${0##*/}" "$@" > "$SEEN/$$"\n`);
  chmodSync(stub, 0o755);
  for (const name of PROGRAMS.filter((each) => each !== "cat")) symlinkSync(stub, join(bin, name));
  // It is needed inside `"$(cat <<'X' …)"`. What it does there is seen in the word.
  writeFileSync(join(bin, "cat"), `#!/bin/sh\n[ $# -eq 0 ] && exec /bin/cat\nexec "\${0%/*}/reader" "$@"\n`);
  chmodSync(join(bin, "cat"), 0o755);
  symlinkSync(stub, join(bin, "reader"));
  // Without them the programs of the same names are called, which can be seen.
  const missing = 'command_not_found_handle() { missing "$@"; }';
  writeFileSync(join(bin, "start"), `enable -n echo printf test [ true false pwd kill type\n${missing}\n`);
  writeFileSync(join(bin, "missing"), `#!/bin/sh\nprintf '%s\\0' "$@" > "$SEEN/$$"\n`);
  chmodSync(join(bin, "missing"), 0o755);
}

async function tryOne(text: string, folder: string, top: string, report: TrialReport): Promise<void> {
  const home = join(top, "home");
  const { files, problem } = readCommandLine(text, { home });
  const { commands } = readShellCommand(text, { home });
  if (problem !== undefined) return;
  report.understood += 1;
  const work = join(folder, "work");
  const seen = join(folder, "seen");
  for (const each of [work, join(work, "d"), seen]) mkdirSync(each, { recursive: true });
  for (const name of ["in", "-v", "d/in"]) writeFileSync(join(work, name), "");
  // So that `cd d` works from everywhere.
  symlinkSync(".", join(work, "d", "d"));
  await runBash(text, work, { PATH: join(top, "bin"), SEEN: seen, HOME: home, BASH_ENV: join(top, "bin", "start") });
  report.ran += 1;
  const calls = readdirSync(seen).map((name) => readFileSync(join(seen, name), "utf8").split("\0").slice(0, -1));
  const expected = executed(commands);
  const mayFail = commands.some(
    ({ words, redirections }) => words[0]?.text.includes("/") || redirections.some(mayNotOpen),
  );
  const isSame = mayFail ? isAmong(calls, commands) : isSameCalls(calls, expected);
  if (!isSame) {
    report.different.push(`${JSON.stringify(text)} ran ${JSON.stringify(calls)}, not ${JSON.stringify(expected)}`);
  }
  const written = files.flatMap(({ paths }) => paths.map((path) => path.replace(/^(?:d\/)+/, "d/")));
  const known = new Set(["in", "-v", "d", "d/in", "d/d", ...written]);
  const found = [...readdirSync(work), ...readdirSync(join(work, "d")).map((name) => `d/${name}`)];
  const strange = found.filter((name) => !known.has(name));
  if (strange.length > 0) report.different.push(`${JSON.stringify(text)} made ${strange.join(", ")}`);
  rmSync(folder, { recursive: true, maxRetries: 5 });
}

/** Everything ends with 0, so only what follows `||` does not run. */
function executed(commands: readonly SimpleCommand[]): ShellWord[][] {
  let isSkipped = false;
  return commands.flatMap(({ joint, words }) => {
    if (joint !== "|") isSkipped = joint === "||";
    const [first, ...rest] = words;
    if (isSkipped || first === undefined || /^(?:cd|set|:)$/.test(first.text)) return [];
    if (first.text !== "cat") return [[...words]];
    return rest.length === 0 ? [] : [[{ text: "reader", isOpen: false }, ...rest]];
  });
}

/** The shell runs nothing for which it cannot open the files. */
function mayNotOpen({ kind, target }: Redirection): boolean {
  return kind === "read" ? target.text !== "in" : !/^(?:d\/)?[\w ]+$|^\/dev\/null$/.test(target.text);
}

/** Nothing ran that was not among the commands; some may not have run. */
function isAmong(calls: readonly string[][], commands: readonly SimpleCommand[]): boolean {
  const known = executed(commands.map((command) => ({ ...command, joint: ";" })));
  return calls.every((call) => known.some((words) => isCall(call, words) || isCall(call, words.slice(1))));
}

function isSameCalls(calls: readonly string[][], expected: readonly ShellWord[][]): boolean {
  const left = [...calls];
  const isTime = ([first]: readonly ShellWord[]): boolean => first?.text === "time";
  // What fits in one way only comes first.
  const freedom = (words: readonly ShellWord[]): number =>
    words.filter(({ isOpen }) => isOpen).length + Number(isTime(words));
  for (const words of expected.toSorted((one, other) => freedom(one) - freedom(other))) {
    // At the start of a pipeline `time` is a word of the shell, elsewhere a program.
    const found = left.findIndex((call) => isCall(call, words) || (isTime(words) && isCall(call, words.slice(1))));
    if (found === -1) return false;
    left.splice(found, 1);
  }
  return left.length === 0;
}

/** An open word becomes one word or more. */
function isCall(call: readonly string[], words: readonly ShellWord[]): boolean {
  const [first, ...rest] = words;
  if (first === undefined) return call.length === 0;
  if (!first.isOpen) return call[0] === first.text && isCall(call.slice(1), rest);
  return call.some((_, index) => isCall(call.slice(index + 1), rest));
}

function runBash(text: string, cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    // The pipe is closed when everything that was started in the background has ended, too.
    const child = spawn("/bin/bash", ["--noprofile", "--norc", "-c", text], {
      cwd,
      env,
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    child.stdio[3]?.on("data", () => undefined);
    child.on("error", reject);
    child.on("close", () => resolve());
  });
}

const plain = fc.constantFrom(
  ..."a b1 -x --y=z a/b HEAD~1 HEAD^ x@y %h a,b issue#1 é 文 stash@{0} {} 0 2 in".split(" "),
);
const quoted = fc.constantFrom(
  "'c d'",
  '"e f"',
  "'$x `y`'",
  '"\\$x"',
  '"a\\"b"',
  '"q\\z"',
  "''",
  '""',
  "\\ ",
  "\\$",
  "\\;",
  "'li\nne'",
  '"li\nne"',
  "'a[$(touch m)]'",
);
const glob = fc.constantFrom("*", "?n", "[a-z]n", "$?", "~/x", "$HOME", "$HOME/y", "~");
const noise = fc.constantFrom(
  ..."$(touch m)|`touch m`|$x|${x}|$((1))|<(touch m)|{a,b}|{1..3}|{a},{b}|(|)|'|\"|\\|~root|a=~|!|[[|$'x'|$\"x\"|é\u00a0|-v|%n|{x}|&>|<<|<<<|>&|;;|a[$(touch m)]=1|m=$(touch m)".split(
    "|",
  ),
);
const piece = fc.oneof(
  { arbitrary: plain, weight: 24 },
  { arbitrary: quoted, weight: 12 },
  { arbitrary: glob, weight: 3 },
  { arbitrary: noise, weight: 1 },
);
const word = fc.array(piece, { minLength: 1, maxLength: 2 }).map((pieces) => pieces.join(""));
const gap = fc.constantFrom(" ", " ", " ", "  ", "\t", " \\\n", "\\\n ");
const redirection = fc.constantFrom(
  "",
  "",
  "",
  "",
  "",
  " >out",
  " >> out",
  " 2>&1",
  " 2>err",
  " < in",
  " &>both",
  " >| out",
  " 2\\\n>err",
  " >/dev/null",
  " >d/out",
  " 1>'o ut'",
);
const assignment = fc.constantFrom("", "", "", "", "CI=1 ", "DEBUG=* ", "NODE_ENV='a b' ", "X=1 ");
const simple = fc
  .tuple(
    assignment,
    fc.constantFrom(
      ...PROGRAMS.filter((each) => each !== "time"),
      "'git'",
      "\\git",
      "time p",
      "p\\\n",
      "cd d; p",
      "cd d && q",
      "set -eu; p",
    ),
    fc.array(fc.tuple(gap, word), { maxLength: 3 }),
    redirection,
  )
  .map(([before, program, rest, arrow]) => `${before}${program}${rest.map((each) => each.join("")).join("")}${arrow}`);
const joint = fc.constantFrom(
  " && ",
  " || ",
  "; ",
  " | ",
  " & ",
  "\n",
  " &&\n",
  " # c'omment\n",
  "&&",
  ";",
  "|",
  " \\\n&& ",
  " &\\\n& ",
);
const document = fc.constantFrom(
  "",
  "",
  "",
  "\ncat <<'EOF'\n$(touch m) it's\nEOF",
  "\ncat <<EOF > out && p\nplain\nEOF\nq",
  "\ngit commit -m \"$(cat <<'E'\nfix(x): it's $(touch m)\n\nE\n)\"",
  "\ncat <<'A' <<'B' | p\na\nA\nb\nB",
  "\ncat <<E\n$(touch m)\nE",
  "\np # it's",
);
/** Single pieces without any order. */
const scattered = fc
  .array(
    fc.constantFrom(
      ...'a|b1| |  |\t|\'c d\'|"e f"|\\ |\\$|\\\\|"\\$"|"\\q"|\'\'|""|-x|--y=|=|:|,|~|#|!|^|%|@|+|/|.|..|]|é|文|*|?|[|{|}|$x|$(touch m)|`touch m`|(|)|;|&|&&|>|<|\n|\\\n|\'|"|\\|2>&1| >/dev/null|>f|2|>>g|&>h|p'
        .split("|")
        .filter((each) => each !== ""),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((pieces) => `p ${pieces.join("")}`);
const ordered = fc
  .tuple(fc.array(fc.tuple(simple, joint), { minLength: 1, maxLength: 3 }), simple, document)
  .map(([parts, last, end]) => `${parts.map((each) => each.join("")).join("")}${last}${end}`);
const commandText = fc.oneof({ arbitrary: ordered, weight: 3 }, { arbitrary: scattered, weight: 2 });
