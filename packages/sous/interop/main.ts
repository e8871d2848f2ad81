/**
 * What needs programs of the machine to be seen: `strace` for R14, `rg` for grep. Each line says what was looked at; a miss
 * fails, and what cannot be looked at for lack of a program is said.
 */

import { spawnSync } from "node:child_process";
import { compareWithRipgrep } from "./compare-grep.ts";
import { traceBeginnings, traceHostilePath } from "./trace-beginnings.ts";

/** Behind the name of a part only that one is looked at: `npm run interop -- grep`. */
const [only] = process.argv.slice(2);
const missed: string[] = [];
if (isWanted("trace") && isThere("strace", "strace")) missed.push(...traceBeginnings(), ...traceHostilePath());
if (isWanted("grep") && isThere("rg", "ripgrep")) for await (const line of compareWithRipgrep()) missed.push(line);
for (const line of missed) console.log(`MISSED  ${line}`);
process.exitCode = missed.length === 0 ? 0 : 1;

function isWanted(part: "trace" | "grep"): boolean {
  return only === undefined || only === part;
}

/** The log of R14 is the reason for this command, so it does not go without; a search can also be compared elsewhere. */
function isThere(program: "strace" | "rg", packageName: string): boolean {
  if (spawnSync(program, ["--version"]).status === 0) return true;
  const remedy = `install it (apt-get install ${packageName})`;
  if (program === "strace") missed.push(`npm run interop needs strace: ${remedy}`);
  else console.log(`NOT SEEN  grep beside ripgrep: there is no rg in PATH; ${remedy}`);
  return false;
}
