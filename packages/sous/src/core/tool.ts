/** Tools: what a model may call, what comes back, and the registry that holds them. */

import type { AgentDefinition } from "./agent.ts";
import type { RuleAnswer } from "./approval.ts";
import { UserError } from "./errors.ts";
import type { FilePart } from "./message.ts";
import {
  functionOf,
  type OptionKinds,
  objectOf,
  SCHEMA,
  TEXT,
  textLike,
  withFunctions,
  wordOf,
} from "./option-kinds.ts";
import { checkOptions } from "./options.ts";
import type { AnySchema, JsonSchema, OutputOf } from "./schema.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "./spawn.ts";
import type { TraceContext } from "./trace-context.ts";

/** The subject of a tool; shown to people. */
export type ToolCategory = "read" | "edit" | "search" | "execute" | "memory" | "vfs" | "task" | "subagent" | "other";

/** `observe` runs freely; `confirm` asks a person first. */
export type ToolTier = "observe" | "confirm";

/** Decides what may be done with a call whose outcome a crash left unknown: `read` and `idempotent` may run again. */
export type ToolEffect = "read" | "idempotent" | "unsafe";

/** The result of a tool: text for the model, and data for programs. */
export type ToolResult = {
  success: boolean;
  /** The text that the model reads, unless `error` is set. */
  output: string;
  error?: string | undefined;
  /** The value behind the text, for code. */
  data?: unknown;
  /** Pictures and documents for the model. */
  documents?: readonly FilePart[] | undefined;
  metadata?: Readonly<Record<string, unknown>> | undefined;
  durationMs?: number | undefined;
};

/** All a tool may touch besides its input. */
export type ToolContext = {
  /** Aborts when the run is stopped; made on first use. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly cwd: string;
  readonly runId: string;
  /** The agent that calls; the same over its follow-ups. */
  readonly agentId: string;
  /** The agents above it, from the root down. */
  readonly ancestorIds: readonly string[];
  readonly path: string;
  readonly depth: number;
  readonly maxDepth: number;
  /**
   * The answer of the user's rules to this call with another input, for a tool that is led somewhere else while it
   * runs. Undefined when no rule speaks of it. Asks no person.
   */
  rulesOn(input: unknown): RuleAnswer | undefined;
  /** Hands a task to a child and waits for it. The runtime supplies it, so tools never import the loop. */
  spawn(request: SpawnRequest): Promise<SpawnReply>;
  /** The children this run already has. */
  readonly children: ChildControl;
  /**
   * Has something done when the run ends, however it ends: for what a call leaves behind, such as a server. The end of the run
   * waits for it, up to 5 seconds. For a run that has ended it is done at once. What it throws is ignored.
   */
  defer(cleanUp: CleanUp): void;
  /**
   * Says how far the call is, for people who watch: one line, and numbers where they are known. It is shown and not stored, no
   * model reads it, and of many in a short time some are left out.
   */
  progress(text: string, done?: number, total?: number): void;
  /** The trace that the call belongs to, for what it asks of other programs; undefined when there is none. */
  readonly trace: TraceContext | undefined;
};

/** Ends what a call has left behind. */
export type CleanUp = () => void | PromiseLike<void>;

/** A tool that the provider defines itself, such as a web search. */
export type ProviderTool = {
  /** The name in the AI SDK: `anthropic.web_search_20250305`. */
  readonly id: string;
  /** The settings of the tool; sent with every request. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The provider runs it while it answers; nothing runs here. */
  readonly runsThere: boolean;
};

/** The origin of a tool that is a server's: people are shown `github › create_issue`. */
export type ToolOrigin = {
  readonly server: string;
  /** The name that the server gives it. */
  readonly tool: string;
  /** A hash of what the server said about the tool: an approval that comes later counts for this definition only. */
  readonly definition?: string | undefined;
};

/** A tool that is ready for use, made by `tool()`. */
export type Tool<Input = unknown> = {
  readonly name: string;
  readonly description: string;
  /** The name for people; `name` when unset. */
  readonly displayName?: string | undefined;
  readonly category: ToolCategory;
  readonly tier: ToolTier;
  readonly effect: ToolEffect;
  readonly inputSchema: AnySchema<Input>;
  /** Set on a tool that hands its task to this agent: what the agent may use, the holder may pass on. */
  readonly agent?: AgentDefinition | undefined;
  /** Set on a tool that a provider defines: only models of this provider can have it. */
  readonly provider?: ProviderTool | undefined;
  /** Set on a tool of a server, such as one of MCP. */
  readonly origin?: ToolOrigin | undefined;
  /** A string, a `ToolResult`, or any JSON value. A throw becomes a failed result. */
  execute(input: Input, context: ToolContext): unknown;
};

/** The options of `tool()`: the safe defaults may be left out. */
export type ToolOptions<Given extends AnySchema> = Pick<
  Tool,
  "name" | "description" | "displayName" | "agent" | "origin"
> & {
  category?: ToolCategory;
  tier?: ToolTier;
  effect?: ToolEffect;
  inputSchema: Given;
  execute(input: OutputOf<Given>, context: ToolContext): unknown;
};

const TOOL_NAME = textLike('1 to 64 letters, digits, "_" or "-"', /^[A-Za-z0-9_-]{1,64}$/);

const TOOL_OPTIONS: OptionKinds<ToolOptions<AnySchema>> = {
  name: TOOL_NAME,
  description: TEXT,
  displayName: TEXT,
  agent: withFunctions("with"),
  origin: objectOf(),
  category: wordOf("read", "edit", "search", "execute", "memory", "vfs", "task", "subagent", "other"),
  tier: wordOf("observe", "confirm"),
  effect: wordOf("read", "idempotent", "unsafe"),
  inputSchema: SCHEMA,
  execute: functionOf(),
};

/** Defines a tool. Defaults: tier `observe`, effect `unsafe`, category `other`. */
export function tool<Given extends AnySchema>(options: ToolOptions<Given>): Tool<OutputOf<Given>> {
  checkOptions("tool()", options, TOOL_OPTIONS);
  checkToolName(options.name);
  if (options.execute === undefined) throw new UserError(`The tool ${options.name} has no execute function`);
  if (options.inputSchema === undefined) throw new UserError(`The tool ${options.name} has no inputSchema`);
  return Object.freeze({
    name: options.name,
    description: options.description,
    displayName: options.displayName,
    category: options.category ?? "other",
    tier: options.tier ?? "observe",
    effect: options.effect ?? "unsafe",
    inputSchema: options.inputSchema as AnySchema<OutputOf<Given>>,
    agent: options.agent,
    origin: options.origin,
    execute: options.execute,
  });
}

/** An AI SDK tool as it is. In a record its name is the key it stands under. */
export type ForeignTool = {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
  /** `provider` for one that a provider defines, such as `anthropic.tools.webSearch_20250305()`. */
  readonly type?: unknown;
  readonly args?: unknown;
  readonly isProviderExecuted?: unknown;
};

/** An AI SDK tool that says what it is called, or a provider's, whose id does. */
export type NamedForeignTool = ForeignTool & ({ readonly name: string } | { readonly id: string });

/**
 * Tools as a person gives them: a list, or a record by name. Both may hold ours and those of the AI SDK. In a list every tool
 * has a name of its own. In a record the key of one of ours is its name; any other key is refused.
 */
export type ToolList =
  // biome-ignore lint/suspicious/noExplicitAny: a list of tools with different inputs has no other common type.
  readonly (Tool<any> | NamedForeignTool)[] | { readonly [name: string]: Tool<any> | ForeignTool };

/** A tool of a registry, as `list` shows it. */
export type ToolInfo = Pick<Tool, "name" | "description" | "category" | "tier" | "effect"> & {
  displayName: string;
  inputSchema: AnySchema | JsonSchema;
};

/** A named set of tools. Cloning is cheap and the copies do not see each other's changes. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();

  constructor(tools: Iterable<Tool> = []) {
    for (const each of tools) this.register(each);
  }

  /** Adds a tool; a second tool of the same name is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: tools with different inputs have no other common type.
  register(added: Tool<any>): this {
    checkToolName(added.name);
    if (this.#tools.has(added.name)) throw new UserError(`A tool named ${added.name} is already registered`);
    this.#tools.set(added.name, added);
    return this;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  names(): string[] {
    return [...this.#tools.keys()];
  }

  /** The facts of each tool for people and models, in the order of registration. */
  list(): ToolInfo[] {
    return [...this.#tools.values()].map((each) => ({
      name: each.name,
      displayName: each.displayName ?? each.name,
      description: each.description,
      category: each.category,
      tier: each.tier,
      effect: each.effect,
      inputSchema: each.inputSchema,
    }));
  }

  clone(): ToolRegistry {
    return new ToolRegistry(this.#tools.values());
  }

  cloneFiltered(keep: (candidate: Tool) => boolean): ToolRegistry {
    return new ToolRegistry([...this.#tools.values()].filter(keep));
  }

  [Symbol.iterator](): Iterator<Tool> {
    return this.#tools.values();
  }
}

function checkToolName(name: string): void {
  if (!TOOL_NAME.takes(name)) throw new UserError(`A tool name has ${TOOL_NAME.wants}; found ${TOOL_NAME.found(name)}`);
}
