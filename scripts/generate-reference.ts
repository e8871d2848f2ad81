/**
 * Writes `docs/reference/` from the code. With `--check` it writes nothing and fails when a page is out of date.
 *
 *   npm run docs
 *   npm run docs -- --check
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { configPage } from "./reference/config-page.ts";
import { eventsPage } from "./reference/events-page.ts";
import { exportsPage } from "./reference/exports-page.ts";
import { toolsPage } from "./reference/tools-page.ts";

export const referenceFolder: string = resolve(import.meta.dirname, "../docs/reference");

/** The pages by file name. */
export async function referencePages(): Promise<Map<string, string>> {
  return new Map([
    ["sous.md", exportsPage("sous", "index.ts", 'Everything that `import … from "sous"` gives.')],
    ["testing.md", exportsPage("sous/testing", "testing.ts", 'Everything that `import … from "sous/testing"` gives.')],
    ["sqlite.md", exportsPage("sous/sqlite", "sqlite.ts", 'Everything that `import … from "sous/sqlite"` gives.')],
    [
      "postgres.md",
      exportsPage("sous/postgres", "postgres.ts", 'Everything that `import … from "sous/postgres"` gives.'),
    ],
    ["config.md", configPage()],
    ["events.md", eventsPage()],
    ["tools.md", await toolsPage()],
  ]);
}

/** The names of pages in a folder that are missing, different, or not made from the code at all. */
export function outdatedPages(pages: ReadonlyMap<string, string>, folder: string): string[] {
  const present = existsSync(folder) ? readdirSync(folder) : [];
  const extra = present.filter((name) => !pages.has(name));
  const changed = [...pages].filter(
    ([name, text]) => !present.includes(name) || readFileSync(join(folder, name), "utf8") !== text,
  );
  return [...changed.map(([name]) => name), ...extra].sort();
}

async function main(): Promise<void> {
  const pages = await referencePages();
  const outdated = outdatedPages(pages, referenceFolder);
  if (process.argv.includes("--check")) {
    if (outdated.length === 0) return;
    console.error(`Out of date in docs/reference: ${outdated.join(", ")}. Run npm run docs.`);
    process.exitCode = 1;
    return;
  }
  mkdirSync(referenceFolder, { recursive: true });
  for (const name of outdated) rmSync(join(referenceFolder, name), { force: true });
  for (const [name, text] of pages) writeFileSync(join(referenceFolder, name), text);
}

if (process.argv[1] === import.meta.filename) await main();
