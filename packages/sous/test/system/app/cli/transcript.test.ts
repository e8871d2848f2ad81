/**
 * The transcript in the docs, made by doing it: a run, `kill -9`, `replay --tree`, `resume`, `replay --rerun`, `--diff`.
 * UPDATE_SNAPSHOTS=1 writes what was printed into the page; otherwise it is compared, ids, times and token counts apart.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, MAIN } from "../../../support/app/cli/sous-process.ts";
import { rootFolder } from "../../../support/source-files.ts";
import { comparable, cutLines, TRANSCRIPT, withStableIds } from "../../docs/transcript-text.ts";

const PAGE = join(rootFolder, "docs/tutorials/03-replay.md");

const folder = mkdtempSync(join(tmpdir(), "sous-transcript-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const FILES = { "one.py": "def first():\n  pass\n\ndef second():\n  pass\n", "notes.txt": "Nothing to see.\n" };

/** Files completed, and two others in the middle of their work: turns answered, and calls that were made. */
const AT_THE_KILL = [
  ["lead", "interrupted", 1, 1],
  ["lead/files", "completed", 2, 1],
  ["lead/definitions", "interrupted", 1, 1],
  ["lead/reader", "interrupted", 1, 1],
];
const ATTEMPTS = 30;

test("G5: the tutorial shows what happens: killed, looked at, gone on with, played again, compared", async () => {
  const printed = await transcript();
  const page = readFileSync(PAGE, "utf8");
  if (process.env.UPDATE_SNAPSHOTS === "1") {
    const updated = page.replaceAll(
      TRANSCRIPT,
      (_, before, name, __, behind) => before + (printed.get(name) ?? "") + behind,
    );
    writeFileSync(PAGE, withStableIds(updated));
    return;
  }
  const regions = new Map([...page.matchAll(TRANSCRIPT)].map(([, , name = "", text = ""]) => [name, text]));
  assert.deepEqual([...regions.keys()], [...printed.keys()]);
  const both = [regions, printed].map((texts) => inSteadyOrder(texts));
  assert.deepEqual(both[1], both[0]);
});

/** Children at work at the same time may be seen in any order; what is kept of them is shown in one. */
function inSteadyOrder(texts: ReadonlyMap<string, string>): [name: string, lines: string[]][] {
  const whole = comparable([...texts.values()].join(NEXT));
  const names = [...texts.keys()];
  return whole.split(NEXT).map((text, index) => {
    const name = names[index] ?? "";
    const lines = text.split("\n");
    return [name, name === "folder" || name === "tree" ? lines : lines.sort()];
  });
}

/** Between two steps: the ids of one are those of the next. */
const NEXT = "\n\f\n";

/** What a person would see, by the name of the step. */
async function transcript(): Promise<Map<string, string>> {
  const steps = new Map<string, string>();
  const { killed, data, work } = await killInTheMiddle();
  const sous = (...parameters: string[]) => show(data, work, parameters);
  const makes = Object.entries(FILES).map(([name, text]) => `$ printf ${quote(text)} > ${name}\n`);
  steps.set("folder", `${makes.join("")}$ ls\n${readdirSync(work).join("  ")}\n`);
  steps.set("kill", `$ sous demo\n${killed}Killed\n`);
  steps.set("tree", await sous("replay", "--tree", "--id", "last"));
  steps.set("resume", await sous("resume"));
  steps.set("rerun", await sous("replay", "--rerun", "--id", "last"));
  const [id = ""] = /[0-9A-HJKMNP-TV-Z]{26}/.exec(steps.get("tree") ?? "") ?? [];
  const more = "\ndef third():\n  pass\n";
  appendFileSync(join(work, "one.py"), more);
  const live = await sous("replay", "--rerun", "--live-tools", "--id", id);
  steps.set("live", `$ printf ${quote(more)} >> one.py\n${live}`);
  await sous("demo");
  const diff = await sous("replay", "--diff", id, "last");
  steps.set("diff", `$ sous demo > /dev/null 2>&1\n${diff}`);
  return new Map([...steps].map(([name, text]) => [name, cutLines(text)]));
}

/** A machine that is busy may be a little late, so this is done again until the signal came when it should. */
async function killInTheMiddle(): Promise<{ killed: string; data: string; work: string }> {
  for (let attempt = 1; ; attempt++) {
    const [data, work] = [join(folder, `data-${attempt}`), mkdtempSync(join(folder, "work-"))];
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(work, name), text);
    const killed = await killedDemo(data, work, "lead/files  ✓ completed");
    const found = await factsIn(join(data, "sous", "sous.db"));
    if (JSON.stringify(found) === JSON.stringify(AT_THE_KILL)) return { killed, data, work };
    assert.ok(attempt < ATTEMPTS, `after ${attempt} attempts it was still killed at ${JSON.stringify(found)}`);
  }
}

async function factsIn(file: string): Promise<unknown[]> {
  await using store = await openSqliteStore(file, { readOnly: true });
  const [root] = await store.list({ rootsOnly: true });
  const records = await store.tree(root?.id ?? "");
  return records.map(({ path, status, turns, toolCount }) => [path, status, turns, toolCount]);
}

/** The command as it is typed, what it prints, and its code when that is not 0. */
async function show(data: string, work: string, parameters: string[]): Promise<string> {
  const { both: output, code } = await inProcess(parameters, { cwd: work, env: { XDG_DATA_HOME: data, TZ: "UTC" } });
  const ending = code === 0 ? "" : `$ echo $?\n${code}\n`;
  return `$ sous ${parameters.join(" ")}\n${output}${ending}`;
}

/** Both streams go into one pipe, so that their lines are in the order of a terminal. Killed when `killAt` is seen. */
function killedDemo(data: string, work: string, killAt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = ["-c", 'exec "$@" 2>&1', "sh", process.execPath, MAIN, "demo"];
    const env = { XDG_DATA_HOME: data, TZ: "UTC", NODE_COMPILE_CACHE: compiled };
    const child = spawn("/bin/sh", command, { cwd: work, env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.includes(killAt)) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

function quote(text: string): string {
  return `'${text.replaceAll("\n", "\\n")}'`;
}
