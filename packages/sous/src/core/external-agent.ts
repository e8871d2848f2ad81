/** The port to agents outside this process. The client for the Agent Client Protocol will stand behind it. */

export type ExternalPrompt = {
  task: string;
  serverName: string | undefined;
  agentId: string | undefined;
};

export type ExternalAnswer = {
  content: string;
  agentId: string;
  serverName: string;
  sessionId: string;
  usage?: { inputTokens: number; outputTokens: number } | undefined;
};

/** What `subagent_delegate` needs of a client. */
export type ExternalAgents = {
  generate(
    prompt: ExternalPrompt,
    options: { signal: AbortSignal; onText(text: string): void },
  ): Promise<ExternalAnswer>;
};
