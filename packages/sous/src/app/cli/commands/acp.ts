/** `sous acp`: the agents of others that sous can delegate to, and sous as an agent of an editor. */

import { ACP } from "../table/acp-entry.ts";
import { performWord, type Words } from "../table/words.ts";

/** `serve` and `check` need the protocol, `list` does not. */
const WORDS: Words = {
  list: async () => (await import("./acp-list.ts")).acpList,
  check: async () => (await import("./acp-check.ts")).acpCheck,
  serve: async () => (await import("./acp-serve.ts")).acpServe,
};

export async function acp(parameters: readonly string[]): Promise<number> {
  return performWord(ACP, WORDS, "takes list, check NAME or serve", parameters);
}
