/** `sous/tools`: the tools of the command line, agents from files, and the types of tools that others define. */

export {
  type AgentsFromFiles,
  type BuiltInToolName,
  type BuiltInToolsOptions,
  builtInTools,
  type LoadAgentsOptions,
  loadAgents,
} from "./agent-files.ts";
export type { AgentDialect, AgentProblem } from "./config/agents/file.ts";
export type { ProviderPart } from "./core/message.ts";
export type { ProviderCalls } from "./core/model.ts";
export type { ForeignTool, NamedForeignTool, ProviderTool, ToolList } from "./core/tool.ts";
