/** An agent is a definition: a frozen value that says who it is, what it may use and how long it may take. */

import type { ApprovalPolicy, Hooks } from "./approval.ts";
import { foundWords, UserError } from "./errors.ts";
import { toTools } from "./foreign-tool.ts";
import type { Budget } from "./limits.ts";
import type { Model } from "./model.ts";
import {
  ASKING_OPTIONS,
  checkProviderOptions,
  type Effort,
  type ProviderOptions,
  type ToolChoice,
} from "./model-options.ts";
import {
  ABOVE_0,
  ANY,
  FLAG,
  functionOf,
  hasFunctions,
  kindOf,
  listOf,
  type OptionKind,
  type OptionKinds,
  objectOf,
  SCHEMA,
  TEXT,
  TEXTS,
  textLike,
  wholeNumber,
  withFunctions,
  wordOf,
} from "./option-kinds.ts";
import { checkOptions } from "./options.ts";
import { type AnySchema, isPlainRecord, type OutputOf } from "./schema.ts";
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
  /** `worker`: with an engine, a child of this definition gets a journal of its own and is continued by a worker that knows it. */
  place?: "worker" | undefined;
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

/** The adapter says later which models of the AI SDK it can use. */
export const MODEL: OptionKind<ModelChoice> = kindOf(
  '"provider/model", a model of the AI SDK, or an object with an id and answer()',
  (value) => {
    if (typeof value === "string") return true;
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
    const { specificationVersion, doStream, id, answer } = value as Readonly<Record<string, unknown>>;
    if (typeof doStream === "function" && specificationVersion !== undefined) return true;
    return typeof answer === "function" && typeof id === "string";
  },
);

/** One that `agent()` has made. */
export const DEFINITION: OptionKind<AgentDefinition> = kindOf("an agent that agent() has made", isDefinition);
export const DEFINITIONS: OptionKind<readonly AgentDefinition[]> = listOf("agents that agent() has made", DEFINITION);

/** A list has a function `with`, too. */
function isDefinition(value: unknown): boolean {
  return hasFunctions(value, ["with"]);
}

/** The options of `agent()`, and what a spread of a definition has besides. */
const AGENT_OPTIONS: OptionKinds<AgentOptions & Pick<AgentDefinition, "with" | "~output">> = {
  name: textLike(
    '1 to 48 letters, digits, "_" or "-", beginning with a letter or digit',
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/,
  ),
  nickname: TEXT,
  description: TEXT,
  instructions: TEXT,
  notes: TEXT,
  model: MODEL,
  // A promise or a `Map` has no keys of its own, and would be no tools at all.
  tools: kindOf("a list or a record of tools", (value) => Array.isArray(value) || isPlainRecord(value)),
  // `checkSubagents` says more about what is in it.
  subagents: kindOf("a list of agents", Array.isArray),
  delegate: FLAG,
  maxTurns: wholeNumber(1, TURNS.max),
  timeoutMs: ABOVE_0,
  maxOutputTokens: wholeNumber(1),
  ...ASKING_OPTIONS,
  outputSchema: SCHEMA,
  budget: objectOf(),
  deny: TEXTS,
  hooks: objectOf(),
  rules: withFunctions("decide"),
  fixed: FLAG,
  place: wordOf("worker"),
  with: functionOf(),
  "~output": ANY,
};

/** A hook that is misspelled would guard nothing. */
const HOOKS: OptionKinds<Hooks> = {
  beforeToolCall: functionOf(),
  afterToolCall: functionOf(),
  onEvent: functionOf(),
  onError: functionOf(),
};

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

/** The rest, which the kinds of its options do not say. */
function checkAgent({ name, budget, hooks, providerOptions, tools, subagents }: AgentOptions): void {
  if (name === undefined) throw new UserError("agent() needs a name");
  if (providerOptions !== undefined) checkProviderOptions(providerOptions, `agent ${name}: providerOptions`);
  if (budget !== undefined) checkBudget(budget, `agent ${name}: budget`);
  if (budget !== undefined && "from" in budget)
    throw new UserError(`agent ${name}: a shared budget is given to run(), not to a definition`);
  if (hooks !== undefined && Object.getPrototypeOf(hooks) === Object.prototype)
    checkOptions(`agent ${name}: hooks`, hooks, HOOKS);
  // A value from a module that imports this one in turn may still be undefined.
  toTools(tools, `tools of agent ${name}`);
  checkSubagents(subagents, name);
}

function checkSubagents(subagents: AgentOptions["subagents"], name: string): void {
  const names = new Set<string>();
  for (const [index, child] of (subagents ?? []).entries()) {
    if (!isDefinition(child))
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
