/** Agent files of gemini-cli, `.gemini/agents/*.md`. Its agents have no children, and limits when nothing is said. */

import type { AgentDraft, KeyReader, KeyReaders } from "./draft.ts";
import {
  hasNoEffect,
  readDescription,
  readMaxTurns,
  readModel,
  readName,
  readNickname,
  readTimeoutMinutes,
} from "./fields.ts";
import { readToolList } from "./tool-list.ts";

const readKind: KeyReader = (draft, key) => {
  const kind = draft.settings[key];
  if (kind === "local" || kind === null) return;
  draft.refuse(
    "SOUS-A008",
    [key],
    "only agents of the kind local can be run: sous does not call remote ones",
    "write `kind: local`",
  );
};

const refuseRemote: KeyReader = (draft, key) =>
  draft.refuse(
    "SOUS-A008",
    [key],
    `${key} belongs to a remote agent, which sous does not call`,
    "remove the file",
    "key",
  );

const refusePolicy: KeyReader = (draft, key) =>
  draft.refuse(
    "SOUS-A004",
    [key],
    `the ${key} of an agent is not understood, so the agent is not loaded`,
    "list its tools instead",
    "key",
  );

export const GEMINI_KEYS: KeyReaders = {
  name: readName,
  display_name: readNickname,
  description: readDescription,
  kind: readKind,
  tools: readToolList,
  model: readModel,
  max_turns: readMaxTurns,
  timeout_mins: readTimeoutMinutes,
  temperature: hasNoEffect("the provider's own temperature is used"),
  mcpServers: hasNoEffect("servers are not started from agent files"),
  mcp_servers: hasNoEffect("servers are not started from agent files"),
  policy: refusePolicy,
  agent_card_url: refuseRemote,
  agent_card_json: refuseRemote,
  auth: refuseRemote,
};

/** As its documentation promises. */
export function geminiDefaults(draft: AgentDraft): void {
  draft.setDefault("maxTurns", 30, "default of gemini-cli");
  draft.setDefault("timeoutMs", 600_000, "default of gemini-cli");
}
