/**
 * Writes `docs/reference/` from the code, and `docs/llms.txt` from the lists of `docs/README.md`. With `--check` it writes nothing and fails when a page is out of date.
 *
 *   npm run docs
 *   npm run docs -- --check
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { apiPages } from "./reference/api-pages.ts";
import { chatPage } from "./reference/chat-page.ts";
import { cliPage } from "./reference/cli-page.ts";
import { configPage } from "./reference/config-page.ts";
import { errorsPage } from "./reference/errors-page.ts";
import { eventsPage } from "./reference/events-page.ts";
import { exitCodesPage } from "./reference/exit-codes-page.ts";
import { jsonPage } from "./reference/json-page.ts";
import { limitsPage } from "./reference/limits-page.ts";
import { providersPage } from "./reference/providers-page.ts";
import { telemetryPage } from "./reference/telemetry-page.ts";
import { toolsPage } from "./reference/tools-page.ts";
import { LLMS_FILE } from "./site/address.ts";
import { packedLlms } from "./site/llms.ts";

const root: string = resolve(import.meta.dirname, "..");
export const referenceFolder: string = join(root, "docs/reference");
const llmsFile: string = join(root, LLMS_FILE);

/** The pages by file name. */
export async function referencePages(): Promise<Map<string, string>> {
  return new Map([
    ...apiPages(),
    ["cli.md", cliPage()],
    ["chat.md", chatPage()],
    ["config.md", configPage()],
    ["exit-codes.md", exitCodesPage()],
    ["errors.md", await errorsPage()],
    ["events.md", eventsPage()],
    ["json-output.md", jsonPage()],
    ["providers.md", providersPage()],
    ["stability-and-limits.md", limitsPage()],
    ["telemetry.md", telemetryPage()],
    ["tools.md", await toolsPage()],
  ]);
}

/** Written by people, and held to the code by tests of their own. */
const BY_HAND = new Set(["outcomes.md", "permissions.md", "requirements.md"]);

/** The names of pages in a folder that are missing, different, or not made from the code at all. */
export function outdatedPages(pages: ReadonlyMap<string, string>, folder: string): string[] {
  const present = existsSync(folder) ? filesIn(folder) : [];
  const extra = present.filter((name) => !pages.has(name) && !BY_HAND.has(name));
  const changed = [...pages].filter(
    ([name, text]) => !present.includes(name) || readFileSync(join(folder, name), "utf8") !== text,
  );
  return [...changed.map(([name]) => name), ...extra].sort();
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

async function main(): Promise<void> {
  const pages = await referencePages();
  const outdated = outdatedPages(pages, referenceFolder);
  if (process.argv.includes("--check")) {
    const isListCurrent = existsSync(llmsFile) && readFileSync(llmsFile, "utf8") === packedLlms(root);
    const all = [...outdated.map((name) => `docs/reference/${name}`), ...(isListCurrent ? [] : [LLMS_FILE])];
    if (all.length === 0) return;
    console.error(`Out of date: ${all.join(", ")}. Run npm run docs.`);
    process.exitCode = 1;
    return;
  }
  mkdirSync(referenceFolder, { recursive: true });
  for (const name of outdated) rmSync(join(referenceFolder, name), { force: true });
  for (const [name, text] of pages) {
    mkdirSync(dirname(join(referenceFolder, name)), { recursive: true });
    writeFileSync(join(referenceFolder, name), text);
  }
  // After the pages: it has their first sentences.
  writeFileSync(llmsFile, packedLlms(root));
}

if (process.argv[1] === import.meta.filename) await main();
