/** From definitions to profiles: which model, which tools and which rights a run has. Built once, shared by equal runs. */

import type { AgentDefinition, ModelChoice } from "./core/agent.ts";
import { UserError } from "./core/errors.ts";
import { toTools } from "./core/foreign-tool.ts";
import { guardsOf } from "./core/hooks.ts";
import { DEFAULT_LIMITS, type DelegationLimits } from "./core/limits.ts";
import type { Model } from "./core/model.ts";
import { providerOf } from "./core/model-name.ts";
import { nowOrLater, type Steps, wait } from "./core/now-or-later.ts";
import { Refused } from "./core/refused.ts";
import type { DeclaredRights } from "./core/rights.ts";
import type { RunProfile } from "./core/run.ts";
import type { SpawnRequest } from "./core/spawn.ts";
import type { Tool } from "./core/tool.ts";
import type { Price } from "./core/usage.ts";
import { withOutput } from "./loop/parse-output.ts";
import { narrow, narrowAgain, rootRights, toStoredRights } from "./rights/narrow.ts";
import { compileSchema } from "./schema/compile.ts";
import { cancelTool, listTool, waitTool } from "./subagents/background.ts";
import { checkAllowed, checkModel } from "./subagents/check-spawn.ts";
import { reportTool, sendTool } from "./subagents/follow-up.ts";
import { namedAgentTool } from "./subagents/named-agent.ts";
import { parallelTool } from "./subagents/parallel.ts";
import { CHILD_INSTRUCTIONS } from "./subagents/prompts.ts";
import { subagentTool } from "./subagents/spawn.ts";
import { catalogOf, forkedSet, onlyAllowed, toolSet } from "./tool-set.ts";

const ROOT_MAX_TURNS = 50;
const NAMED_MAX_TURNS = 100;

export type ProfileParts = {
  resolveModel(choice: ModelChoice): Model | Promise<Model>;
  priceOf(model: Model): Price | undefined;
  /** Models that a call may name besides those of its run's own provider. */
  allowedModels: readonly string[];
  /** Tokens the model can read and write in one call, when known. */
  windowOf(model: Model): number | undefined;
  limits: DelegationLimits;
  agents: readonly AgentDefinition[];
  now(): number;
};

export class Profiles {
  readonly #parts: ProfileParts;
  readonly #delegationTools: readonly Tool[];
  /** Children that a call did not change: by parent profile, then by definition. A promise while it is being built. */
  readonly #known = new WeakMap<RunProfile, Map<AgentDefinition | undefined, RunProfile | Promise<RunProfile>>>();
  readonly #namedTools = new WeakMap<AgentDefinition, Tool>();
  /** Models that were found by their name. Any other has no provider that a call could name. */
  readonly #foundByName = new WeakSet<Model>();

  constructor(parts: ProfileParts) {
    this.#parts = parts;
    const { limits, now } = parts;
    this.#delegationTools = [
      subagentTool,
      parallelTool({ maxConcurrent: limits.maxConcurrent ?? DEFAULT_LIMITS.maxConcurrent, now }),
      sendTool,
      reportTool,
      waitTool,
      cancelTool,
      listTool,
    ];
  }

  /** The profile of a root: its definition is all there is. */
  async root(definition: AgentDefinition): Promise<RunProfile> {
    const own = toTools(definition.tools);
    const catalog = catalogOf(own, definition.subagents);
    const declared = declare(definition, own, catalog);
    const model = await this.#model(definition.model, undefined);
    const made = {
      rights: rootRights({ ...declared, tools: declared.tools ?? [] }),
      own,
      catalog,
      depth: 0,
      model,
      provider: this.#providerOf(model),
      instructions: definition.instructions,
      maxTurns: definition.maxTurns ?? ROOT_MAX_TURNS,
    };
    return nowOrLater(this.#build(definition, made));
  }

  /** The profile of a child: narrowed from its parent's. Throws `Refused`. */
  child(parent: RunProfile, request: SpawnRequest): RunProfile | Promise<RunProfile> {
    const definition = this.#definitionOf(parent, request.agent);
    const base = this.#known.get(parent)?.get(definition) ?? this.#remember(parent, definition);
    return base instanceof Promise
      ? base.then((built) => this.#changed(built, parent, request))
      : this.#changed(base, parent, request);
  }

  /** A thousand siblings that start at once share one profile, so it is remembered also while it is being built. */
  #remember(parent: RunProfile, definition: AgentDefinition | undefined): RunProfile | Promise<RunProfile> {
    const siblings =
      this.#known.get(parent) ?? new Map<AgentDefinition | undefined, RunProfile | Promise<RunProfile>>();
    this.#known.set(parent, siblings);
    const building = nowOrLater(this.#buildChild(parent, definition));
    siblings.set(definition, building);
    if (building instanceof Promise) {
      building.then(
        (built) => siblings.set(definition, built),
        () => siblings.delete(definition),
      );
    }
    return building;
  }

  /** The same profile under the rights its parent has now. */
  revived(earlier: RunProfile, parent: RunProfile): RunProfile {
    const rights = narrowAgain(earlier.rights, parent.rights);
    return { ...earlier, rights, storedRights: toStoredRights(rights) };
  }

  #definitionOf(parent: RunProfile, wanted: SpawnRequest["agent"]): AgentDefinition | undefined {
    if (typeof wanted !== "string") return wanted;
    const known = [...parent.subagents, ...this.#parts.agents];
    const found = known.find((each) => each.name === wanted);
    if (found !== undefined) return found;
    const names = known.map((each) => each.name).join(", ");
    throw new Refused(
      "invalid_input",
      `Unknown agent: ${wanted}. ${names === "" ? "There are none." : `Known: ${names}.`}`,
    );
  }

  *#buildChild(parent: RunProfile, definition: AgentDefinition | undefined): Steps<RunProfile> {
    const own = definition?.tools === undefined ? [...parent.catalog.values()] : toTools(definition.tools);
    const catalog = catalogOf(own, definition?.subagents);
    const declared = definition === undefined ? UNDECLARED : declare(definition, own, catalog);
    const model = yield* wait(this.#model(definition?.model, parent.model));
    return yield* this.#build(
      definition ?? { subagents: parent.subagents, delegate: parent.delegate, hooks: guardsOf(parent.hooks) },
      {
        rights: narrow(parent.rights, declared, { tools: undefined }),
        own,
        catalog,
        depth: parent.depth + 1,
        model,
        provider: definition?.model === undefined ? parent.provider : this.#providerOf(model),
        instructions: definition === undefined ? CHILD_INSTRUCTIONS : definition.instructions,
        maxTurns:
          definition?.maxTurns ?? (definition === undefined ? this.#parts.limits.defaultMaxTurns : NAMED_MAX_TURNS),
      },
    );
  }

  /** What one call asks for besides: it can only take away, or choose among what is allowed. */
  #changed(base: RunProfile, parent: RunProfile, request: SpawnRequest): RunProfile | Promise<RunProfile> {
    const { options } = request;
    // `subagent { agent: "x" }` has the turns of a call, `subagent_x` those of a specialist.
    const isNamedInCall = typeof request.agent === "string" && base.maxTurns === NAMED_MAX_TURNS;
    if (options === undefined && !isNamedInCall) return base;
    const maxTurns = options?.maxTurns ?? (isNamedInCall ? this.#parts.limits.defaultMaxTurns : base.maxTurns);
    const isPlain =
      options?.allowedTools === undefined &&
      options?.model === undefined &&
      options?.systemPrompt === undefined &&
      options?.outputSchema === undefined &&
      options?.context !== "fork";
    if (isPlain && options?.timeoutMs === undefined) return maxTurns === base.maxTurns ? base : { ...base, maxTurns };
    const timeoutMs = Math.min(
      options?.timeoutMs ?? Number.POSITIVE_INFINITY,
      base.timeoutMs ?? Number.POSITIVE_INFINITY,
    );
    const timed = { ...base, maxTurns, timeoutMs: Number.isFinite(timeoutMs) ? timeoutMs : undefined };
    return isPlain ? timed : nowOrLater(this.#specialized(timed, parent, request));
  }

  *#specialized(base: RunProfile, parent: RunProfile, { options = {} }: SpawnRequest): Steps<RunProfile> {
    const { allowedTools, model, systemPrompt, outputSchema, context } = options;
    if (allowedTools !== undefined) checkAllowed(allowedTools, base.rights);
    const rights = allowedTools === undefined ? base.rights : narrow(base.rights, UNDECLARED, { tools: allowedTools });
    const output = outputSchema === undefined ? base.output : yield* wait(compileSchema(outputSchema));
    const changed: RunProfile = {
      ...base,
      rights,
      storedRights: toStoredRights(rights),
      output,
      instructions: withOutput(systemPrompt ?? base.instructions, outputSchema === undefined ? undefined : output),
    };
    // A fork keeps the parent's model, prefix and definitions byte for byte; what it may not use is refused at dispatch.
    if (context === "fork") {
      const { model: same, provider, price, contextWindow, instructions } = parent;
      const tools = forkedSet(parent.tools, base.tools);
      return { ...changed, model: same, provider, price, contextWindow, instructions, tools };
    }
    checkModel(model, parent.provider, this.#parts.allowedModels);
    const chosen = model === undefined ? base.model : yield* wait(this.#model(model, parent.model));
    const tools = allowedTools === undefined ? base.tools : onlyAllowed(base.tools, rights);
    const { priceOf, windowOf } = this.#parts;
    const provider = model === undefined ? base.provider : parent.provider;
    return { ...changed, model: chosen, provider, price: priceOf(chosen), contextWindow: windowOf(chosen), tools };
  }

  *#build(
    source: Pick<AgentDefinition, "subagents" | "delegate"> & Partial<AgentDefinition>,
    made: Pick<RunProfile, "rights" | "catalog" | "depth" | "model" | "provider" | "instructions" | "maxTurns"> & {
      own: readonly Tool[];
    },
  ): Steps<RunProfile> {
    const { own, rights, ...rest } = made;
    const { limits, priceOf, windowOf } = this.#parts;
    const subagents = source.subagents ?? [];
    const delegate = source.delegate === true;
    const canHaveChildren =
      rights.spawn && (delegate || subagents.length > 0 || own.some((each) => each.category === "subagent"));
    const isDeepest = canHaveChildren && made.depth >= limits.maxDepth;
    const mayCall = own.filter((each) =>
      each.category === "subagent" ? rights.spawn && !isDeepest : rights.use.has(each.name),
    );
    const offered = canHaveChildren && !isDeepest ? [...mayCall, ...this.#subagentTools(subagents, delegate)] : mayCall;
    const output = source.outputSchema === undefined ? undefined : yield* wait(compileSchema(source.outputSchema));
    const instructions = withOutput(made.instructions, output);
    return {
      ...rest,
      instructions,
      agentName: source.name ?? "subagent",
      nickname: source.nickname,
      price: priceOf(made.model),
      contextWindow: windowOf(made.model),
      tools: yield* toolSet(offered, isDeepest, instructions),
      rights,
      storedRights: toStoredRights(rights),
      subagents,
      delegate,
      timeoutMs: source.timeoutMs,
      settings: { maxOutputTokens: source.maxOutputTokens, outputSchema: undefined },
      output,
      hooks: source.hooks,
      budget: source.budget,
    };
  }

  #subagentTools(subagents: readonly AgentDefinition[], delegate: boolean): Tool[] {
    const named = subagents.map((each) => {
      const known = this.#namedTools.get(each) ?? namedAgentTool(each, { tier: "observe" });
      this.#namedTools.set(each, known);
      return known;
    });
    return delegate ? [...named, ...this.#delegationTools] : named;
  }

  #model(choice: ModelChoice | undefined, inherited: Model | undefined): Model | Promise<Model> {
    if (choice === undefined && inherited !== undefined) return inherited;
    if (choice === undefined)
      throw new UserError('No model: give the agent one, such as model: "anthropic/claude-sonnet-4-5"');
    const found = this.#parts.resolveModel(choice);
    return typeof choice === "string" ? this.#rememberName(found) : found;
  }

  /** Undefined for a model that the developer has made: a name would lead to another key. */
  #providerOf(model: Model): string | undefined {
    return this.#foundByName.has(model) ? providerOf(model.id) : undefined;
  }

  #rememberName(found: Model | Promise<Model>): Model | Promise<Model> {
    if (found instanceof Promise) return found.then((model) => this.#rememberName(model));
    this.#foundByName.add(found);
    return found;
  }
}

const UNDECLARED: DeclaredRights = { tools: undefined, delegate: undefined, deny: undefined };

/** What a definition says about rights; one without tools takes what its parent passes on. */
function declare(
  definition: AgentDefinition,
  own: readonly Tool[],
  catalog: ReadonlyMap<string, Tool>,
): DeclaredRights {
  if (definition.tools === undefined && definition.subagents === undefined)
    return { ...UNDECLARED, deny: definition.deny };
  return {
    tools: definition.tools === undefined ? undefined : ordinaryNames(own),
    delegate: [...catalog.keys()],
    deny: definition.deny,
  };
}

function ordinaryNames(tools: readonly Tool[]): string[] {
  return tools.filter((each) => each.category !== "subagent").map((each) => each.name);
}
