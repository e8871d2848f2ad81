/** Commands whose first argument is a word that names what to do: `sous acp list`, `sous mcp serve`. */

import { usageError } from "../exit-codes.ts";
import type { CommandEntry } from "./entry.ts";
import { quoted, readOptions } from "./options.ts";

type Perform = (parameters: readonly string[]) => Promise<number>;

/** What each word does; loaded when it is called. */
export type Words = Readonly<Record<string, () => Promise<Perform>>>;

/** The word comes first; what follows is read by what it names. `takes` says what it takes, for a usage error. */
export async function performWord(
  entry: CommandEntry,
  words: Words,
  takes: string,
  parameters: readonly string[],
): Promise<number> {
  readOptions(entry, parameters);
  const [word, ...rest] = parameters;
  const load = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined;
  if (load === undefined) {
    const command = `sous ${entry.name}`;
    const found = word === undefined ? "" : `; found ${quoted(word)}`;
    throw usageError(`${command} ${takes}${found}. See ${command} --help.`);
  }
  const perform = await load();
  return perform(rest);
}
