/** `sous/acp`: agents of other programs over the Agent Client Protocol. */

export type { AcpDeadlines } from "./acp/agent.ts";
export type { AcpClient } from "./acp/client.ts";
export type {
  AcpAgent,
  AcpChatOptions,
  AcpPromptOptions,
  AcpServerHealth,
  AcpSessionInfo,
} from "./acp/client-types.ts";
export type { AcpPermissionPolicy, AcpPiece, AcpQuestion, AcpResult } from "./acp/library-session.ts";
export type { AcpServer } from "./acp/server-entry.ts";
export { type CreateAcpClientOptions, createAcpClient } from "./acp-client.ts";
