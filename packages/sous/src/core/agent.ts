/** An agent is a definition: a frozen value that says who it is, what it may use and how long it may take. */

import type { ApprovalPolicy, Hooks } from "./approval.ts";
import { checkWhole, foundWords, UserError } from "./errors.ts";
import { toTools } from "./foreign-tool.ts";
import type { Budget } from "./limits.ts";
import type { Model } from "./model.ts";
import { checkAsking, type Effort, type ProviderOptions, type ToolChoice } from "./model-options.ts";
import { checkOptions, type OptionNames } from "./options.ts";
import type { AnySchema, OutputOf } from "./schema.ts";
import type { ToolList } from "./tool.ts";
import { checkBudget, TURNS } from "./words/limits.ts";
import { CHILD_TOOLS } from "./words/tools.ts";

/** Any AI SDK language model (specification V4), as it is. Only the runtime's model adapter looks inside. */
export type ForeignModel = {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
};

/** A model object, an AI SDK model, or `"provider/model"`. */
export type ModelChoice = Model | ForeignModel | string;

/**
 * More than seven fields, on purpose: this is the vocabulary of agent files too, and each field is one line of such a file.
 */
export type AgentOptions<Given extends AnySchema | undefined = AnySchema | undefined> = {
  name: string;
  /** A short name for people. */
  nickname?: string | undefined;
  /** The text that a parent's model reads when it chooses whom to call. */
  description?: string | undefined;
  /** The system prompt. */
  instructions?: string | undefined;
  /**
   * Text behind the instructions, also behind those that a call gives: facts of the machine, notes of the project. Children that a
   * call makes up get the same notes; another definition has its own. Nothing when unset.
   */
  notes?: string | undefined;
  /** The parent's model when unset. */
  model?: ModelChoice | undefined;
  /** None for a root when unset; for a child what the parent may pass on. */
  tools?: ToolList | undefined;
  /** Specialists this agent may call as `subagent_<name>`; listing one approves it. */
  subagents?: readonly AgentDefinition[] | undefined;
  /**
   * True adds `subagent`, `parallel_subagent` and the tools to follow them up. False, with neither `subagents` nor a tool for
   * children in `tools`, means no children at all, by whatever tool.
   */
  delegate?: boolean | undefined;
  maxTurns?: number | undefined;
  timeoutMs?: number | undefined;
  /** The cap of one answer; 4,096 when a token budget is set, else the provider's own. */
  maxOutputTokens?: number | undefined;
  /** A number from 0 to 2; the provider's own when unset. Models that are known to take none are asked without it. */
  temperature?: number | undefined;
  /** The effort of the model: the nearest level that it has. Models that do not think ignore it. */
  effort?: Effort | undefined;
  /** `required`, or one tool by its name, holds until the run has made its first call; then it is `auto`. */
  toolChoice?: ToolChoice | undefined;
  /** Options for the adapter of a provider, by its name; JSON. They go before those that sous sets. */
  providerOptions?: ProviderOptions | undefined;
  /** The answer must be JSON of this shape. */
  outputSchema?: Given;
  /** A share of what is left of the budget; more than that is refused. */
  budget?: Budget | undefined;
  /** Names of tools neither this agent nor anything below it may use. `subagent_scout` is the agent scout, by whatever tool. */
  deny?: readonly string[] | undefined;
  /**
   * Rules for the calls of this agent and of everything below it, besides those of the runtime. The strictest answer counts; what
   * they allow, they allow to this agent only.
   */
  rules?: Pick<ApprovalPolicy, "decide"> | undefined;
  /**
   * True: a call only narrows the agent. It does not replace its instructions or its `outputSchema`, raise its `maxTurns`, choose
   * another model or begin it with the conversation of its caller. A schema that it has not itself stands behind its task. Agents of files are fixed, and those with `rules` unless they say `false`.
   */
  fixed?: boolean | undefined;
  hooks?: Hooks | undefined;
};

/** The result of `agent()`: frozen, so it can be shared by many runs. */
export type AgentDefinition<Output = unknown> = Readonly<AgentOptions> & {
  /** A changed copy; the original stays as it is. */
  with<const Given extends AnySchema | undefined = undefined>(
    changes: Partial<AgentOptions<Given>>,
  ): AgentDefinition<Given extends AnySchema ? OutputOf<Given> : Output>;
  /** Only for types: what `run()` resolves with as `output`. */
  readonly "~output"?: Output;
};

/** Names that would collide with the tools of the same prefix. */
export const RESERVED_AGENT_NAMES: readonly string[] = CHILD_TOOLS.map(({ name }) => name)
  .filter((name) => name.startsWith("subagent_"))
  .map((name) => name.slice("subagent_".length));

/** The options of `agent()`, and what a spread of a definition has besides. */
const AGENT_OPTIONS: OptionNames<AgentOptions & Pick<AgentDefinition, "with" | "~output">> = {
  name: true,
  nickname: true,
  description: true,
  instructions: true,
  notes: true,
  model: true,
  tools: true,
  subagents: true,
  delegate: true,
  maxTurns: true,
  timeoutMs: true,
  maxOutputTokens: true,
  temperature: true,
  effort: true,
  toolChoice: true,
  providerOptions: true,
  outputSchema: true,
  budget: true,
  deny: true,
  hooks: true,
  rules: true,
  fixed: true,
  with: true,
  "~output": true,
};

/** A hook that is misspelled would guard nothing. */
const HOOK_NAMES: OptionNames<Hooks> = { beforeToolCall: true, afterToolCall: true, onEvent: true, onError: true };

const AGENT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/;

/** Defines an agent. Throws a `UserError` when a name or a number in it is not allowed. */
export function agent<const Given extends AnySchema | undefined = undefined>(
  options: AgentOptions<Given>,
): AgentDefinition<OutputOf<Given>> {
  checkOptions("agent()", options, AGENT_OPTIONS);
  checkAgent(options);
  const { tools, subagents, deny } = options;
  // Copies: what is pushed onto a list later does not change who the agent is.
  const own = {
    ...options,
    ...{ tools: copyOf(tools), subagents: copyOf(subagents), deny: copyOf(deny) },
    ...{ toolChoice: deepCopyOf(options.toolChoice), providerOptions: deepCopyOf(options.providerOptions) },
  };
  const definition: AgentDefinition<OutputOf<Given>> = {
    ...own,
    with: (changes) => agent({ ...own, ...changes }) as never,
  };
  return Object.freeze(definition);
}

function copyOf<List extends object | undefined>(list: List): List {
  if (list === undefined) return list;
  return Object.freeze(Array.isArray(list) ? [...list] : { ...list }) as List;
}

/** `structuredClone` takes a microsecond for nothing, too. */
function deepCopyOf<Value>(value: Value): Value {
  return value === undefined ? value : structuredClone(value);
}

function checkAgent(options: AgentOptions): void {
  const { name, maxTurns, timeoutMs, maxOutputTokens, budget } = options;
  if (typeof name !== "string" || !AGENT_NAME.test(name)) {
    throw new UserError(
      `An agent name has 1 to 48 letters, digits, "_" or "-" and begins with a letter or digit; found ${JSON.stringify(name)}`,
    );
  }
  for (const field of ["nickname", "description", "instructions", "notes"] as const) {
    const text: unknown = options[field];
    if (text !== undefined && typeof text !== "string")
      throw new UserError(`${field} of agent ${name} must be text; found ${foundWords(text)}`);
  }
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && maxTurns >= 1 && maxTurns <= TURNS.max)) {
    throw new UserError(`maxTurns of agent ${name} must be between 1 and ${TURNS.max}; found ${maxTurns}`);
  }
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw new UserError(`timeoutMs of agent ${name} must be greater than 0; found ${timeoutMs}`);
  }
  checkAsking(options, name);
  if (maxOutputTokens !== undefined) checkWhole(`maxOutputTokens of agent ${name}`, maxOutputTokens, 1);
  if (budget !== undefined) checkBudget(budget, `agent ${name}: budget`);
  if (budget !== undefined && "from" in budget)
    throw new UserError(`agent ${name}: a shared budget is given to run(), not to a definition`);
  if (options.hooks !== undefined && Object.getPrototypeOf(options.hooks) === Object.prototype)
    checkOptions(`hooks of agent ${name}`, options.hooks, HOOK_NAMES);
  // A value from a module that imports this one in turn may still be undefined.
  toTools(options.tools, `tools of agent ${name}`);
  checkSubagents(options.subagents, name);
}

function checkSubagents(subagents: AgentOptions["subagents"], name: string): void {
  const names = new Set<string>();
  for (const [index, child] of (subagents ?? []).entries()) {
    if (typeof child?.with !== "function")
      throw new UserError(`subagents of agent ${name}: ${index} is ${foundWords(child)} and not made by agent()`);
    if (RESERVED_AGENT_NAMES.includes(child.name)) {
      throw new UserError(
        `An agent called ${child.name} cannot be a subagent: subagent_${child.name} is a tool of the runtime. Choose another name.`,
      );
    }
    if (names.has(child.name)) throw new UserError(`Two subagents of agent ${name} are called ${child.name}`);
    names.add(child.name);
  }
}

/** The text that a model reads before the first message: the instructions of its agent, and the notes that follow them. */
type PromptParts = { readonly instructions: string | undefined; readonly notes: string | undefined };

/** Undefined when there is neither. */
export function systemPrompt({ instructions, notes }: PromptParts): string | undefined {
  if (notes === undefined || notes === "") return instructions;
  return instructions === undefined || instructions === "" ? notes : `${instructions}\n\n${notes}`;
}
