/** `sous mcp`: tools of others that agents can use, and agents as tools of other programs. */

import { MCP } from "../table/mcp-entry.ts";
import { performWord, type Words } from "../table/words.ts";

const WORDS: Words = {
  list: async () => (await import("./mcp-list.ts")).mcpList,
  check: async () => (await import("./mcp-check.ts")).mcpCheck,
  serve: async () => (await import("./mcp-serve.ts")).mcpServe,
};

export async function mcp(parameters: readonly string[]): Promise<number> {
  return performWord(MCP, WORDS, "takes list, check NAME or serve", parameters);
}
