/**
 * Runs what needs programs of others to be seen: `strace` for R14, `rg` for grep, Prometheus for metrics, VitePress and a
 * browser for the site of the documentation, npm and bundlers for the packed package, external agents in trees of ours, a
 * client of others on `sous acp serve`, and for MCP the conformance suite, a server, and programs that call agents of ours.
 * Each line says what was looked at; a miss fails, and what cannot be looked at for lack of a program is said.
 */

import { spawnSync } from "node:child_process";
import { compareWithRipgrep } from "./compare-grep.ts";
import { Look } from "./external/look.ts";
import { EXTERNAL_PARTS, isExternalPart, lookExternal } from "./external/parts.ts";
import { lookAtInstall } from "./install/look.ts";
import { lookAtMcp } from "./mcp/parts.ts";
import { lookAtPrometheus } from "./prometheus/look.ts";
import { lookAtSite } from "./site/look.ts";
import { traceBeginnings, traceHostilePath } from "./trace-beginnings.ts";

const PARTS = ["trace", "grep", "prometheus", "site", "install", "mcp", ...EXTERNAL_PARTS] as const;
type Part = (typeof PARTS)[number];

/** Only the parts that are named: `npm run interop -- grep claude`. */
const named = process.argv.slice(2);
const parts: readonly Part[] = named.length === 0 ? PARTS : PARTS.filter((part) => named.includes(part));
const unknown = named.filter((name) => !PARTS.some((part) => part === name));

const look = new Look();
const { missed } = look;
missed.push(...unknown.map((name) => `there is no part ${name}: the parts are ${PARTS.join(", ")}`));
if (isWanted("trace") && isThere("strace", "strace")) missed.push(...traceBeginnings(), ...traceHostilePath());
if (isWanted("grep") && isThere("rg", "ripgrep")) for await (const line of compareWithRipgrep()) missed.push(line);
if (isWanted("prometheus")) await lookAtPrometheus(look);
if (isWanted("site")) await lookAtSite(look);
if (isWanted("install")) await lookAtInstall(look);
if (isWanted("mcp")) await lookAtMcp(look);
await lookExternal(look, parts.filter(isExternalPart));
for (const line of missed) console.log(`MISSED  ${line}`);
process.exitCode = missed.length === 0 ? 0 : 1;

function isWanted(part: Part): boolean {
  return parts.includes(part);
}

/** The log of R14 is the reason for this command, so it does not go without; a search can also be compared elsewhere. */
function isThere(program: "strace" | "rg", packageName: string): boolean {
  if (spawnSync(program, ["--version"]).status === 0) return true;
  const remedy = `install it (apt-get install ${packageName})`;
  if (program === "strace") missed.push(`npm run interop needs strace: ${remedy}`);
  else console.log(`NOT SEEN  grep beside ripgrep: there is no rg in PATH; ${remedy}`);
  return false;
}
