/** `sous/acp`: external agents over the Agent Client Protocol. */

export { type CreateAcpClientOptions, createAcpClient } from "./acp-client.ts";
export type { AcpDeadlines } from "./bridges/acp/agent.ts";
export type { AcpClient } from "./bridges/acp/client.ts";
export type {
  AcpAgent,
  AcpChatOptions,
  AcpPromptOptions,
  AcpServer,
  AcpServerHealth,
  AcpSessionInfo,
} from "./bridges/acp/client-types.ts";
export type { AcpPermissionPolicy, AcpPiece, AcpQuestion, AcpResult } from "./bridges/acp/library-session.ts";
