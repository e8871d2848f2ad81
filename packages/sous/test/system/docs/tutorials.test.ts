/**
 * The tutorials of the command line as a reader follows them: the lines behind `$` are typed into a shell, and what is
 * printed must be what the page shows. UPDATE_SNAPSHOTS=1 writes it into the page.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { promisify } from "node:util";
import { compiled, MAIN } from "../../support/app/cli/sous-process.ts";
import { rootFolder } from "../../support/source-files.ts";
import { comparable, cutLines, TRANSCRIPT, withStableIds } from "./transcript-text.ts";

const FAN_OUT = join(rootFolder, "docs/tutorials/02-fan-out.md");
const LIMITS = join(rootFolder, "docs/tutorials/04-limits.md");
const THREE_AGENTS = join(rootFolder, "docs/tutorials/05-three-agents-one-tree.md");
const FILE = /<!-- file: (\S+) -->\s*```(?:json|yaml|js)\n(.*?)```/gs;

const folder = mkdtempSync(join(tmpdir(), "sous-tutorials-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "sous"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
chmodSync(join(bin, "sous"), 0o755);
// Of the external agents.
symlinkSync(process.execPath, join(bin, "node"));

suite("K1: a tutorial of the command line shows what happens", { concurrency: true }, () => {
  test("a tutorial shows a fan-out", () => follow(FAN_OUT, ["folder", "run", "tree"]));
  // It begins where the other one has begun.
  test("a tutorial shows limits", () => follow(LIMITS, ["agents", "turns", "tokens"], FAN_OUT));
  test("a tutorial shows three agents", () => follow(THREE_AGENTS, ["servers", "refused", "allowed", "money"]));
});

/** `start` is the page whose files and folder this one begins with; its own when unset. */
async function follow(page: string, names: readonly string[], start = page): Promise<void> {
  const text = readFileSync(page, "utf8");
  const blocks = blocksOf(text);
  assert.deepEqual([...blocks.keys()], names);
  const place = openPlace(readFileSync(start, "utf8"));
  if (start !== page) await typeAll(place, blocksOf(readFileSync(start, "utf8")).get("folder") ?? "");
  const printed = new Map<string, string>();
  for (const [name, block] of blocks) printed.set(name, cutLines(await typeAll(place, block)));
  if (process.env.UPDATE_SNAPSHOTS === "1") {
    const updated = text.replaceAll(TRANSCRIPT, (_, start, name, __, end) => start + (printed.get(name) ?? "") + end);
    writeFileSync(page, withStableIds(updated));
    return;
  }
  for (const [name, block] of blocks) assert.deepEqual(linesOf(printed.get(name) ?? ""), linesOf(block), name);
}

function blocksOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(TRANSCRIPT)].map(([, , name = "", block = ""]) => [name, block]));
}

/** Children at work at the same time may be seen in any order, and which of them has to wait is a matter of moments. */
function linesOf(text: string): string[] {
  const lines = comparable(text).split("\n");
  return lines.filter((line) => !line.includes("waits for its budget")).sort();
}

type Place = { work: string; env: Record<string, string> };

function openPlace(page: string): Place {
  const home = mkdtempSync(join(folder, "home-"));
  const work = join(home, "work");
  mkdirSync(work);
  for (const [, name = "", content = ""] of page.matchAll(FILE)) writeFileSync(join(work, name), content);
  return { work, env: { HOME: home, PATH: `${bin}:${process.env.PATH ?? ""}`, NODE_COMPILE_CACHE: compiled } };
}

/** Types the lines behind `$` into one shell. Both streams go into one pipe, as on a terminal. */
async function typeAll({ work, env }: Place, block: string): Promise<string> {
  const lines = block.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));
  // The code of a command is asked for by the next line, so nothing may stand between them.
  const script = lines.map((line) => `(exit $code); ${line}\ncode=$?; echo ${END}`).join("\n");
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", `exec 2>&1 </dev/null; code=0\n${script}`], {
    cwd: work,
    env,
  });
  const outputs = stdout.split(`${END}\n`);
  return lines.map((line, index) => `$ ${line}\n${outputs[index] ?? ""}`).join("");
}

const END = "-- end of command --";
