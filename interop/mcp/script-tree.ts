/** The tree of two agents that clients of `sous mcp serve` are answered by. */

import type { Mock } from "../external/mock.ts";

/** A lead that starts a scout, which runs one command. The task of the lead; its answer is "The lead is done.". */
export function scriptTree(mock: Mock, name: string, command: string): string {
  mock.script(`${name} scout`, [() => [{ name: "terminal", input: { command } }], "Scouted."]);
  const input = { agent: "scout", label: "scout", task_prompt: `${name} scout` };
  mock.script(`${name} lead`, [() => [{ name: "subagent", input }], "The lead is done."]);
  return `${name} lead`;
}
