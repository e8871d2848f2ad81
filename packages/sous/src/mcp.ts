/** `sous/mcp`: tools of MCP servers in code. */

export {
  type McpAddressOptions,
  type McpProgramOptions,
  type McpServerOptions,
  type McpToolSet,
  type McpToolsOptions,
  mcpTools,
} from "./mcp-client.ts";
