/**
 * Our own search beside a real ripgrep, on folders made up at random: whether ripgrep is asked for the files or not, the answer
 * is the same; and where both read a file alike, the lines that match are those ripgrep finds.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openPrograms } from "../packages/sous/src/app/process/programs.ts";
import { grepTool } from "../packages/sous/src/app/tools/grep.ts";
import type { Random } from "../packages/sous/src/core/clock.ts";
import type { Programs } from "../packages/sous/src/core/process.ts";
import { between, chance, pick, seededRandom } from "../packages/sous/src/testing/world.ts";
import { answerOf } from "../packages/sous/test/support/app/tools/write-tools.ts";

const FOLDERS = 30;
const SEARCHES = 12;
const FILES = 25;

type Search = {
  pattern: string;
  literal?: true;
  ignore_case?: true;
  include_ignored?: true;
  path?: string;
  glob?: string;
};

/** What was missed. The seed is printed; `SOUS_SEED` gives another. */
export async function* compareWithRipgrep(): AsyncGenerator<string> {
  const seed = Number(process.env.SOUS_SEED ?? Math.floor(Math.random() * 1e9));
  console.log(`looking at grep beside ${version()}, seed ${seed}`);
  const random = seededRandom(seed, "grep");
  const state = mkdtempSync(join(tmpdir(), "sous-interop-state-"));
  try {
    await using programs = openPrograms({ stateFolder: state, environment: process.env });
    yield* withAndWithout(random, programs);
    yield* besideItsOwn(random);
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

function version(): string {
  return execFileSync("rg", ["--version"], { encoding: "utf8" }).split("\n")[0] ?? "";
}

/** Files of every kind: ignored, hidden, binary, in other encodings, behind links. */
async function* withAndWithout(random: Random, programs: Programs): AsyncGenerator<string> {
  let [searches, asked, matching] = [0, 0, 0];
  const counting: Programs = {
    find: (name) => programs.find(name),
    start: (request) => programs.start(request),
    talk: (request) => programs.talk(request),
    run(request) {
      asked += 1;
      return programs.run(request);
    },
    [Symbol.asyncDispose]: async () => {},
  };
  for (let each = 0; each < FOLDERS; each++) {
    using folder = strangeFolder(random);
    for (let count = 0; count < SEARCHES; count++) {
      const search = anySearch(random);
      const own = await answerOf(grepTool(), search, folder.path);
      const other = await answerOf(grepTool(undefined, counting), search, folder.path);
      searches += 1;
      if (!own.startsWith("No matches")) matching += 1;
      if (own !== other)
        yield `grep ${JSON.stringify(search)} differs with ripgrep\n--- own\n${own}\n--- with\n${other}`;
    }
  }
  if (asked === 0 || matching === 0)
    yield `grep: of ${searches} searches ${asked} asked ripgrep and ${matching} found anything`;
  else
    console.log(
      `reached grep: ${searches} searches with and without ripgrep (asked ${asked} times, ${matching} with matches)`,
    );
}

/** Plain text only: what else ripgrep reads in its own way is none of the promise. */
async function* besideItsOwn(random: Random): AsyncGenerator<string> {
  let [searches, matching] = [0, 0];
  for (let each = 0; each < FOLDERS; each++) {
    using folder = plainFolder(random);
    for (let count = 0; count < SEARCHES; count++) {
      const { path: _path, glob: _glob, ...search } = anySearch(random);
      const own = (await answerOf(grepTool(), { ...search, include_ignored: true, limit: 1000 }, folder.path)).split(
        "\n",
      );
      const found = linesOfRipgrep(search, folder.path);
      searches += 1;
      if (found.length > 0) matching += 1;
      const ours = own[0] === "No matches." ? [] : own.toSorted();
      if (ours.join("\n") !== found.join("\n"))
        yield `grep ${JSON.stringify(search)} is not what rg finds\n--- own\n${ours.join("\n")}\n--- rg\n${found.join("\n")}`;
    }
  }
  if (matching === 0) yield `grep: none of ${searches} searches found anything`;
  else console.log(`reached grep: the lines of rg itself in ${searches} searches (${matching} with matches)`);
}

function linesOfRipgrep({ pattern, literal, ignore_case }: Search, cwd: string): string[] {
  const flags = ["--no-config", "--no-heading", "--line-number", "--no-ignore", "--hidden", "--color=never"];
  if (literal === true) flags.push("--fixed-strings");
  if (ignore_case === true) flags.push("--ignore-case");
  const sought = literal === true ? pattern : ofAscii(pattern);
  const { stdout } = spawnSync("rg", [...flags, "--", sought, "./"], { cwd, encoding: "utf8" });
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => line.replace(/^\.\//, "")).toSorted();
}

/** Ours are the classes of JavaScript. */
function ofAscii(pattern: string): string {
  return pattern.replace(/\\([dwbB])/g, "(?-u:\\$1)");
}

const WORDS = [
  "alpha",
  "beta",
  "Übung",
  "--pre=x",
  "日本語",
  "a.b",
  "foo(",
  "\\d+",
  "tab\tx",
  "ALPHA",
  "\u{1f600}",
  "alphabet",
  "-e",
  "42",
  "x_1",
] as const;
const PATTERNS = [
  "alp+ha",
  "alpha|beta",
  "^alpha",
  "beta$",
  "[A-Z]lpha",
  "Übung.*",
  "(foo)?alpha\\b",
  "日本?語",
  "alpha\\s+beta",
  "a\\.b",
  "\\d+",
  "[^a-z ]{2,3}",
  "\\w+_\\d",
  "\\p{L}{4,5}\\b",
  "^$",
  "^.{3}$",
  "(a|b).(a|t)",
  "\\Bpha",
] as const;
const NAMES = [
  "a.txt",
  ".hidden",
  "node_modules",
  "sub",
  ".gitignore",
  ".ignore",
  ".rgignore",
  "b c.md",
  "-dash",
  "ü.txt",
  "big.bin",
  ".git",
  "x",
] as const;

function anySearch(random: Random): Search {
  const isLiteral = chance(random, 0.5);
  return {
    pattern: isLiteral ? pick(random, WORDS) : pick(random, PATTERNS),
    ...(isLiteral ? { literal: true } : {}),
    ...(chance(random, 0.2) ? { ignore_case: true } : {}),
    ...(chance(random, 0.5) ? { include_ignored: true } : {}),
    ...(chance(random, 0.25) ? { path: "sub" } : {}),
    ...(chance(random, 0.25) ? { glob: "*.txt" } : {}),
  };
}

type Folder = Disposable & { readonly path: string };

function newFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "sous-interop-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function strangeFolder(random: Random): Folder {
  const folder = newFolder();
  for (let index = 0; index < FILES; index++) {
    const parts = Array.from({ length: between(random, 1, 3) }, () => pick(random, NAMES));
    putIfPossible(join(folder.path, ...parts, `f${between(random, 0, 3)}${pick(random, [".txt", ".ts", ""])}`), () =>
      strangeBytes(random),
    );
  }
  putIfPossible(join(folder.path, ".gitignore"), () => pick(random, ["*.ts\n", "sub/\n", "!x\n", ""]));
  putIfPossible(join(folder.path, ".ignore"), () => "*\n");
  symlinkSync("..", join(folder.path, "up"));
  execFileSync("mkfifo", [join(folder.path, "pipe")]);
  return folder;
}

/** A name may be a file already where a folder is wanted, or the other way round. */
function putIfPossible(file: string, content: () => string | Buffer): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content());
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

function strangeBytes(random: Random): string | Buffer {
  const mark = chance(random, 0.12) ? "\ufeff" : "";
  const long = chance(random, 0.1) ? "x".repeat(17_000) : "";
  const end = chance(random, 0.1) ? "\0binary" : "";
  const text = mark + textOf(random, pick(random, ["\n", "\r\n"])) + long + end;
  if (chance(random, 0.08)) return Buffer.from(text, "utf16le");
  return chance(random, 0.08) ? Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0x80])]) : text;
}

function plainFolder(random: Random): Folder {
  const folder = newFolder();
  for (let index = 0; index < FILES; index++)
    writeFileSync(join(folder.path, `f${index}.txt`), `${textOf(random, "\n")}\n`);
  return folder;
}

function textOf(random: Random, lineEnd: string): string {
  const lines = Array.from({ length: between(random, 0, 8) }, () =>
    Array.from({ length: between(random, 0, 3) }, () => pick(random, WORDS)).join(pick(random, [" ", ""])),
  );
  return lines.join(lineEnd);
}
