/** The tools of a run: ready for dispatch, and as the journal says what its model is shown. */

import type { ToolDefinition } from "./model.ts";
import type { Schema } from "./schema.ts";
import type { Tool } from "./tool.ts";

/** A tool ready for dispatch: its schema compiled. */
export type ReadyTool = { readonly tool: Tool; readonly schema: Schema; readonly definition: ToolDefinition };

/** The tools of a run, shared by all runs with the same definition and rights. */
export type ToolSet = {
  /** The tools that can be called. Some may not be shown: `subagent_scout` where one tool names all agents. */
  readonly byName: ReadonlyMap<string, ReadyTool>;
  /** The tools that the model is shown; the same array in every call. */
  readonly definitions: readonly ToolDefinition[];
  /** Bytes of the definitions and the instructions, for estimates. */
  readonly bytes: number;
  /** Subagent tools that are missing only because the run is at the deepest level. */
  readonly isDeepest: boolean;
};

/** The tools of a run as its model is shown them. Runs of a tree share their sets: only the first run with a set spells it out. */
export type RunTools = {
  /** Names the set. */
  hash: string;
  shown?: readonly ShownTool[] | undefined;
  /** Bytes of the definitions and the instructions, as estimates of prompts count them. */
  bytes: number;
  /** Tools for children are missing only because the run is at the deepest level. */
  isDeepest: boolean;
  /** The tools that a fork is shown because its parent is shown them, and that it cannot call. */
  withheld?: readonly string[] | undefined;
};

/** One tool as a model is shown it, and what its calls need besides. */
export type ShownTool = Omit<ToolDefinition, "provider"> &
  Pick<Tool, "category" | "tier" | "effect"> & {
    /** The id of a tool that the provider defines. Its settings may hold keys and are not recorded. */
    provider?: string | undefined;
    /** The name of the agent that its calls are handed to. */
    agent?: string | undefined;
  };
