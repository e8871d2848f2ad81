/** `sous/mcp`: tools of MCP servers in code. */

export type {
  McpAddressOptions,
  McpCommonOptions,
  McpProgramOptions,
  McpServerOptions,
} from "./bridges/mcp/server-options.ts";
export type { ToolOrigin } from "./core/tool.ts";
export { type McpToolSet, type McpToolsOptions, mcpTools } from "./mcp-client.ts";
