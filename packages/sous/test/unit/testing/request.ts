/** A model request as the loop would make it, for tests of models by themselves. */

import { type Message, userMessage } from "../../../src/core/message.ts";
import type { ModelCaller, ModelRequest } from "../../../src/core/model.ts";

export type GivenRequest = {
  path?: string;
  agentId?: string;
  messages?: readonly Message[];
  signal?: AbortSignal;
  changes?: Partial<Omit<ModelRequest, "signal">>;
};

export function requestOf({
  path = "lead",
  agentId = path,
  messages,
  signal,
  changes,
}: GivenRequest = {}): ModelRequest {
  const caller: ModelCaller = { runId: agentId, agentId, path, depth: 0, turn: 1 };
  return {
    instructions: undefined,
    messages: messages ?? [userMessage("Look around.")],
    tools: [],
    mayCallTools: true,
    settings: { maxOutputTokens: undefined, outputSchema: undefined },
    caller,
    ...changes,
    get signal(): AbortSignal {
      if (signal === undefined) throw new Error("The signal was made although nobody waits");
      return signal;
    },
  };
}
