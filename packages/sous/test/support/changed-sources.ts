/** A copy of the sources with a few changes, to show how many files a new word of the system needs. */

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder, rootFolder, sourceFolder } from "./source-files.ts";

/** By path: the text of a new file, or each place that a file has once and what stands there instead; `$&` is the place itself. */
export type SourceChanges = Readonly<
  Record<string, string | readonly (readonly [place: string, replacement: string])[]>
>;

export class ChangedSources {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "sous-changed-"));

  constructor(changes: SourceChanges) {
    cpSync(sourceFolder, join(this.#folder, "src"), { recursive: true });
    cpSync(join(packageFolder, "package.json"), join(this.#folder, "package.json"));
    symlinkSync(join(rootFolder, "node_modules"), join(this.#folder, "node_modules"), "junction");
    for (const [path, change] of Object.entries(changes)) {
      const file = join(this.#folder, "src", path);
      const isNew = typeof change === "string";
      assert.equal(existsSync(file), !isNew, `${path} is ${isNew ? "a new file" : "a file of the sources"}`);
      let text = isNew ? change : readFileSync(file, "utf8");
      for (const [place, replacement] of isNew ? [] : change) {
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
