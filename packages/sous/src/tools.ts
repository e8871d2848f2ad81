/** `sous/tools`: the tools of the command line, agents from files, and the types of tools that others define. */

export {
  type AgentsFromFiles,
  type BuiltInToolsOptions,
  builtInTools,
  type LoadAgentsOptions,
  loadAgents,
} from "./agent-files.ts";
export type { AgentDialect, AgentProblem } from "./app/config/agents/file.ts";
export type { AgentFileCode } from "./app/config/problem.ts";
export { readOnlyTools } from "./app/tools/read-only.ts";
export type { ProviderData, ProviderPart } from "./core/message.ts";
export type { ProviderCalls } from "./core/model.ts";
export type { StandardIssue, StandardResult } from "./core/schema.ts";
export type { ForeignTool, NamedForeignTool, ProviderTool, ToolInfo, ToolList } from "./core/tool.ts";
export type { BuiltInToolName } from "./core/words/tools.ts";
