/** `sous/mcp`: tools of MCP servers in code. */

export type { McpAddressOptions, McpCommonOptions, McpProgramOptions, McpServerOptions } from "./mcp/server-options.ts";
export { type McpToolSet, type McpToolsOptions, mcpTools } from "./mcp-client.ts";
