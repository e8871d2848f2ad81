/** The list of tools of a server that is connected, page by page. */

import type { Client, StandardSchemaV1 } from "@modelcontextprotocol/client";
import type { McpServer } from "../core/configuration.ts";
import { isRecord } from "../core/schema.ts";
import { type CheckSchema, type ReadDefinitions, readDefinitions } from "./definitions.ts";

const MAX_PAGES = 64;
/** Of tools that are looked at, over all pages. */
const MAX_LISTED = 20_000;
/** Our own timers end a request; the SDK's would be a second one with the same error. */
export const NO_LIMIT_MS: number = 2 ** 31 - 1;

/** Takes what comes as it is: one field of a wrong type must not cost the whole list. */
export const ANY_RESULT: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "sous",
    validate: (value) => (isRecord(value) ? { value } : { issues: [{ message: "not an object" }] }),
  },
};

export async function listTools(
  client: Client,
  server: McpServer,
  checkSchema: CheckSchema,
  signal: AbortSignal,
): Promise<ReadDefinitions> {
  if (client.getServerCapabilities()?.tools === undefined) {
    return { definitions: [], notes: [`The MCP server ${server.name} has no tools`] };
  }
  const found: unknown[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, ANY_RESULT, { signal, timeout: NO_LIMIT_MS });
    if (!Array.isArray(page.tools)) throw new Error("its answer to tools/list is not a list of tools");
    for (const tool of page.tools.slice(0, MAX_LISTED - found.length)) found.push(tool);
    cursor = typeof page.nextCursor === "string" && page.nextCursor !== "" ? page.nextCursor : undefined;
    pages += 1;
  } while (cursor !== undefined && pages < MAX_PAGES && found.length < MAX_LISTED);
  const { definitions, notes } = readDefinitions(server, found, checkSchema);
  if (cursor === undefined) return { definitions, notes };
  return {
    definitions,
    notes: [...notes, `The MCP server ${server.name} lists tools without end: the rest was left out`],
  };
}
