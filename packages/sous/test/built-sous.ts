/** Loaded into programs of their own that import `sous`: they get it as it is published, which loads in a third of the time. */

import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const command = process.env.SOUS_TEST_COMMAND;

/** Variables for such a program. It gets the sources when not all tests run, because nothing is built then. */
export const builtSous: Record<string, string> =
  command === undefined ? {} : { SOUS_TEST_COMMAND: command, NODE_OPTIONS: `--import=${import.meta.url}` };

if (command !== undefined && process.env.NODE_OPTIONS === builtSous.NODE_OPTIONS) {
  const dist = join(dirname(command), "..");
  registerHooks({
    resolve(specifier, context, next) {
      const entry = /^sous(?:\/(.+))?$/.exec(specifier);
      if (entry === null) return next(specifier, context);
      return { url: pathToFileURL(join(dist, `${entry[1] ?? "index"}.js`)).href, shortCircuit: true };
    },
  });
}
