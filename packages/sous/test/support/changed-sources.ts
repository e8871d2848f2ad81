/** A copy of the sources with a few changes, to show how many files a new word of the system needs. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder, rootFolder, sourceFolder } from "./source-files.ts";

/** A place that the file has once, and what stands there instead; `$&` is the place itself. */
type Change = readonly [place: string, replacement: string];

/** By path below `src/`: the changes of a file, or the text of a new one. */
export type SourceChanges = Readonly<Record<string, readonly Change[] | string>>;

export class ChangedSources {
  readonly folder: string = mkdtempSync(join(tmpdir(), "sous-changed-"));

  constructor(...all: readonly SourceChanges[]) {
    cpSync(sourceFolder, join(this.folder, "src"), { recursive: true });
    cpSync(join(packageFolder, "package.json"), join(this.folder, "package.json"));
    symlinkSync(join(rootFolder, "node_modules"), join(this.folder, "node_modules"), "junction");
    for (const [path, changes] of all.flatMap((each) => Object.entries(each))) {
      const file = join(this.folder, "src", path);
      if (typeof changes === "string") writeFileSync(file, changes, { flag: "wx" });
      else writeFileSync(file, changedText(path, readFileSync(file, "utf8"), changes));
    }
  }

  /** `path` is below `src/`. */
  load<Module>(path: string): Promise<Module> {
    return import(pathToFileURL(join(this.folder, "src", path)).href);
  }

  /** The errors of the compiler; none is an empty text. */
  compile(): Promise<string> {
    const tsconfig = { extends: join(rootFolder, "tsconfig.json"), include: ["src"] };
    writeFileSync(join(this.folder, "tsconfig.json"), JSON.stringify(tsconfig));
    return new Promise((resolve) => {
      // So few files are checked in less time by one thread, and without collecting garbage.
      const options = { cwd: this.folder, env: { ...process.env, GOGC: "off" } };
      const compiler = join(rootFolder, "node_modules/.bin/tsc");
      execFile(compiler, ["--pretty", "false", "--singleThreaded"], options, (error, stdout, stderr) => {
        resolve(error === null ? "" : `${stdout}${stderr}` || error.message);
      });
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function changedText(path: string, text: string, changes: readonly Change[]): string {
  return changes.reduce((changed, [place, replacement]) => {
    assert.equal(changed.split(place).length, 2, `${path} has one place like this: ${place}`);
    return changed.replace(place, replacement);
  }, text);
}
