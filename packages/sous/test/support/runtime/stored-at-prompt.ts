/** A lead that delegates to an external agent on a slow store. */

import { agent } from "../../../src/core/agent.ts";
import type { Store } from "../../../src/core/store.ts";
import type { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { ALLOW, fakeClient, registryWith } from "../requirements/embedding.ts";

const TASK = { task: "Fix it.", description: "a fix" };

/** What was stored of the child in the moment of the prompt, on a store that takes its time. */
export async function storedAtPrompt(create: typeof createRuntime): Promise<string[]> {
  const memory = openMemoryStore();
  const stored: string[] = [];
  const append = memory.append.bind(memory);
  const slow: Pick<Store, "isImmediate" | "append"> = {
    isImmediate: false,
    async append(rootId, events, owner) {
      await new Promise((later) => setImmediate(later));
      await append(rootId, events, owner);
      stored.push(...events.filter(({ depth }) => depth === 1).map(({ type }) => type));
    },
  };
  const store = Object.assign(memory, slow);
  let seen: string[] = [];
  const client = fakeClient(async () => {
    seen = [...stored];
    return "Fixed.";
  });
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: [calls("subagent_delegate", TASK), says("Seen.")] }),
    delegate: false,
    tools: [...registryWith({ client })],
  });
  await create({ store, ...ALLOW }).run(lead, "Go.").result;
  return seen;
}
