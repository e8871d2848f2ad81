/** What is known of the tools of a server without starting it. */

import type { McpServer } from "../core/configuration.ts";
import { located, type McpGround } from "./ground.ts";
import type { McpDefinition } from "./pins.ts";
import { toolNameOf } from "./tool-name.ts";

export type ToolState = "new" | "approved" | "changed";

export type KnownTool = {
  /** As the server calls it. */
  readonly name: string;
  /** As rules, agent files and models call it. */
  readonly toolName: string;
  readonly state: ToolState;
};

/** As the server listed them last; undefined when it was never asked. */
export async function knownTools(
  server: McpServer,
  ground: Pick<McpGround, "cwd" | "pins">,
): Promise<readonly KnownTool[] | undefined> {
  const { seen, approved } = await ground.pins.read(located(server, ground));
  return seen?.map((now) => {
    const names = namesOf(server, now);
    return { ...names, state: stateOf(now, approved.get(names.toolName)) };
  });
}

export function namesOf(server: McpServer, { name }: McpDefinition): Pick<KnownTool, "name" | "toolName"> {
  return { name, toolName: toolNameOf(server.name, name) };
}

export function stateOf(now: McpDefinition, approved: McpDefinition | undefined): ToolState {
  if (approved === undefined) return "new";
  return approved.sha256 === now.sha256 ? "approved" : "changed";
}
