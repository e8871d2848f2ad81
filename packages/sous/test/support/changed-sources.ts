/** A copy of the sources with a few changes, to show how many files a new word of the system needs. */

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder, rootFolder, sourceFolder } from "./source-files.ts";

/** By path: a place that the file has once, and what stands there instead; `$&` is the place itself. */
export type SourceChanges = Readonly<Record<string, readonly (readonly [place: string, replacement: string])[]>>;

export class ChangedSources {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "sous-changed-"));

  constructor(changes: SourceChanges) {
    cpSync(sourceFolder, join(this.#folder, "src"), { recursive: true });
    cpSync(join(packageFolder, "package.json"), join(this.#folder, "package.json"));
    symlinkSync(join(rootFolder, "node_modules"), join(this.#folder, "node_modules"), "junction");
    for (const [path, places] of Object.entries(changes)) {
      const file = join(this.#folder, "src", path);
      let text = readFileSync(file, "utf8");
      for (const [place, replacement] of places) {
        assert.equal(text.split(place).length, 2, `${path} has one place like this: ${place}`);
        text = text.replace(place, replacement);
      }
      writeFileSync(file, text);
    }
  }

  /** `path` is below `src/`. */
  load<Module>(path: string): Promise<Module> {
    return import(pathToFileURL(join(this.#folder, "src", path)).href);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
