/** What a tool of a server is called here. */

import { mcpToolName } from "../core/mcp-names.ts";
import { toolHash } from "../machine/tool-hash.ts";

export function toolNameOf(server: string, name: string): string {
  return mcpToolName(server, name, toolHash);
}
