/** Runs the attacks of the tests and counts them by boundary. Fails when there are fewer than the page says. */

import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { run } from "node:test";

const FILES = [
  "packages/sous/test/{unit,system}/attacks/{b*,secrets}.test.ts",
  "packages/sous/test/system/bridges/acp/session.test.ts",
  "packages/sous/test/unit/core/external-call.test.ts",
  "packages/sous/test/{unit,system}/app/config/*.test.ts",
  "packages/sous/test/system/app/cli/trust-canaries.test.ts",
  "packages/sous/test/unit/requirements/{h-rights,h-boundaries,h-shares,h-limits,r-figures}.test.ts",
  "packages/sous/test/{unit,system}/runtime/rights/*.test.ts",
  "packages/sous/test/unit/inventory/*.test.ts",
  "packages/sous/test/{unit,system}/app/tools/{workspace,workspace-pipe,grep}.test.ts",
  "packages/sous/test/system/app/process/{programs,program-folders,git-environment}.test.ts",
  "packages/sous/test/unit/storage/store/sqlite-hostile.test.ts",
  "packages/sous/test/unit/rerun/hostile.test.ts",
];
/** A test that shows that others can fail is no attempt. */
const CONTROL = /can fail$|so the rows? above/;

const counts = new Map<string, { attempts: number; files: Set<string> }>();
const stacks = new Map<string, string[]>();
let failed = 0;

const stream = run({ files: globSync(FILES), concurrency: 2, execArgv: ["--conditions=sous-source"] });
stream.on("test:start", ({ name, nesting, file = "" }) => {
  const above = stacks.get(file)?.slice(0, nesting) ?? [];
  stacks.set(file, [...above, name]);
});
stream.on("test:fail", ({ name, details }) => {
  failed += 1;
  console.error(`failed: ${name}: ${details.error.message}`);
});
stream.on("test:pass", ({ name, nesting, file = "", details }) => {
  if (details.type === "suite" || CONTROL.test(name)) return;
  const titles = [...(stacks.get(file)?.slice(0, nesting) ?? []), name];
  // The nearest title that names a boundary.
  const [, id] = titles.findLast((title) => /\bB[1-9]\.\d/.test(title))?.match(/\bB([1-9])\.\d/) ?? [];
  if (id === undefined) return;
  const found = counts.get(`B${id}`) ?? { attempts: 0, files: new Set() };
  counts.set(`B${id}`, { attempts: found.attempts + 1, files: found.files.add(basename(file)) });
});
for await (const _event of stream);

let isShort = false;
const page = readFileSync("docs/explanation/how-security-is-tested.md", "utf8");
for (const [, id = "", promised] of page.matchAll(/^\| (B\d) \| (\d+) \|/gm)) {
  const { attempts, files } = counts.get(id) ?? { attempts: 0, files: new Set() };
  isShort ||= attempts < Number(promised);
  console.log(`${id}: ${attempts} attempts, at least ${promised} promised, in ${[...files].sort().join(", ")}`);
}
if (isShort || failed > 0) process.exitCode = 1;
