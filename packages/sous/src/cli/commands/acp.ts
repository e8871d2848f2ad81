/** `sous acp`: the agents of others that sous can delegate to, and sous as an agent of an editor. */

import { usageError } from "../exit-codes.ts";
import { ACP } from "../table/acp-entry.ts";
import { quoted, readOptions } from "../table/options.ts";

const COMMAND = "sous acp";

type Word = (parameters: readonly string[]) => Promise<number>;

/** Each is loaded when it is called: `serve` and `check` need the protocol, `list` does not. */
const WORDS: Readonly<Record<string, () => Promise<Word>>> = {
  list: async () => (await import("./acp-list.ts")).acpList,
  check: async () => (await import("./acp-check.ts")).acpCheck,
  serve: async () => (await import("./acp-serve.ts")).acpServe,
};

/** The word comes first; what follows is read by what it names. */
export async function acp(parameters: readonly string[]): Promise<number> {
  readOptions(ACP, parameters);
  const [word, ...rest] = parameters;
  const load = word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (load === undefined) {
    const found = word === undefined ? "" : `; found ${quoted(word)}`;
    throw usageError(`${COMMAND} takes list, check NAME or serve${found}. See ${COMMAND} --help.`);
  }
  const run = await load();
  return run(rest);
}
