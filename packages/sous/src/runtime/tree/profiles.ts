/** Turns definitions into profiles: the model, the tools and the rights of a run. Built once, shared by equal runs. */

import { type AgentDefinition, type ModelChoice, systemPrompt } from "../../core/agent.ts";
import { guardsOf } from "../../core/approval.ts";
import { Refused, UserError } from "../../core/errors.ts";
import { toTools } from "../../core/foreign-tool.ts";
import type { Model } from "../../core/model.ts";
import { type AskingOptions, inheritAsking } from "../../core/model-options.ts";
import { mayUse } from "../../core/rights.ts";
import type { RunProfile } from "../../core/run.ts";
import type { SpawnOptions, SpawnRequest } from "../../core/spawn.ts";
import type { Tool } from "../../core/tool.ts";
import type { ToolSet } from "../../core/tool-set.ts";
import type { Price } from "../../core/usage.ts";
import { type DelegationLimits, shorterLimit, TURNS } from "../../core/words/limits.ts";
import { outputInstructions, withOutput } from "../loop/parse-output.ts";
import { narrow, narrowAgain, rootRights, toStoredRights } from "../rights/narrow.ts";
import { compileSchema, compileSchemaOf } from "../schema/compile.ts";
import { checkAllowed, checkModel, findAgent, type NarrowedOptions, narrowing } from "../subagents/check-spawn.ts";
import { callableAgents, DelegationTools } from "../subagents/delegation-tools.ts";
import { CHILD_INSTRUCTIONS } from "../subagents/prompts.ts";
import { andThen } from "./at-once.ts";
import { asFork, withFewerRights } from "./changed-profile.ts";
import { ChosenModels, type RootPlace } from "./chosen-models.ts";
import {
  catalogOf,
  checkToolChoice,
  declare,
  inherited,
  isHidden,
  onlyAllowed,
  onlyTaken,
  toolSet,
  UNDECLARED,
  whyNotTaken,
  withoutOthers,
} from "./tool-set.ts";

type ProfileParts = {
  resolveModel(choice: ModelChoice): Model | Promise<Model>;
  /** Includes the fees of these tools of its provider, as far as they are known. */
  priceOf(model: Model, providerTools: readonly string[]): Price | undefined;
  /** Models that a call may name besides those of its run's own provider. */
  allowedModels: readonly string[];
  /** Tokens the model can read and write in one call, when known. */
  windowOf(model: Model): number | undefined;
  limits: DelegationLimits;
  agents: readonly AgentDefinition[];
  now(): number;
};

type Narrowed = SpawnRequest & { readonly options?: NarrowedOptions | undefined };
/** The source of the profiles of a tree's runs. */
export type ProfileSource = {
  /** `at` is given for the first run of a placed journal. */
  root(definition: AgentDefinition, at?: RootPlace): Promise<RunProfile>;
  /** Throws `Refused`. `path` is where the child would be. */
  child(parent: RunProfile, request: SpawnRequest, path: string): RunProfile | Promise<RunProfile>;
  /** The profile of an agent that runs once more. */
  revived(earlier: RunProfile, parent: RunProfile, path: string): RunProfile | Promise<RunProfile>;
};

export class Profiles implements ProfileSource {
  readonly #parts: ProfileParts;
  readonly #delegation: DelegationTools;
  /** Children that a call did not change: by parent profile, then by definition. A promise while something is loaded. */
  readonly #known = new WeakMap<RunProfile, Map<AgentDefinition | undefined, RunProfile | Promise<RunProfile>>>();
  readonly #models: ChosenModels;

  constructor(parts: ProfileParts) {
    this.#parts = parts;
    const { limits, now } = parts;
    this.#models = new ChosenModels((choice) => parts.resolveModel(choice));
    this.#delegation = new DelegationTools(limits, now);
  }

  /** The profile of a root: its definition is all there is. */
  async root(definition: AgentDefinition, at?: RootPlace): Promise<RunProfile> {
    const own = toTools(definition.tools);
    const catalog = catalogOf(own, definition.subagents);
    const declared = declare(definition, own, catalog);
    const model = await this.#models.find(at?.model ?? definition.model, undefined);
    const wrong = whyNotTaken(own, model);
    if (wrong !== undefined) throw new UserError(wrong);
    const made = {
      rights: rootRights({ ...declared, tools: declared.tools ?? [] }),
      own,
      catalog,
      depth: at?.depth ?? 0,
      model,
      asking: inheritAsking(definition, undefined),
      provider: this.#models.providerOf(model),
      instructions: definition.instructions,
      notes: definition.notes,
      maxTurns: definition.maxTurns ?? TURNS.root,
    };
    return this.#build(definition, made);
  }

  /** The profile of a child: narrowed from its parent's. Throws `Refused`. */
  child(parent: RunProfile, request: SpawnRequest): RunProfile | Promise<RunProfile> {
    const definition = this.#definitionOf(parent, request.agent);
    const base = this.#known.get(parent)?.get(definition) ?? this.#remember(parent, definition);
    return andThen(base, (built) =>
      this.#changed(built, parent, { ...request, options: narrowing(definition, built, request.options) }),
    );
  }

  /** A thousand siblings that start at once share one profile, so it is remembered also while something is loaded for it. */
  #remember(parent: RunProfile, definition: AgentDefinition | undefined): RunProfile | Promise<RunProfile> {
    const siblings =
      this.#known.get(parent) ?? new Map<AgentDefinition | undefined, RunProfile | Promise<RunProfile>>();
    this.#known.set(parent, siblings);
    const building = this.#buildChild(parent, definition);
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
    return withFewerRights(earlier, narrowAgain(earlier.rights, parent.rights));
  }

  #definitionOf(parent: RunProfile, wanted: SpawnRequest["agent"]): AgentDefinition | undefined {
    if (typeof wanted !== "string") return wanted;
    return findAgent(wanted, callableAgents(parent.subagents, this.#parts.agents, parent.rights.deny));
  }

  #buildChild(parent: RunProfile, definition: AgentDefinition | undefined): RunProfile | Promise<RunProfile> {
    const found = this.#models.find(definition?.model, parent.model);
    return andThen(found, (model) => this.#buildChildOn(model, parent, definition));
  }

  #buildChildOn(
    model: Model,
    parent: RunProfile,
    definition: AgentDefinition | undefined,
  ): RunProfile | Promise<RunProfile> {
    const own = definition?.tools === undefined ? inherited(parent, model) : toTools(definition.tools);
    const wrong = whyNotTaken(own, model);
    if (wrong !== undefined) throw new Refused("invalid_input", wrong);
    const catalog = catalogOf(own, definition?.subagents);
    const declared = definition === undefined ? UNDECLARED : declare(definition, own, catalog);
    return this.#build(
      definition ?? { subagents: parent.subagents, delegate: parent.delegate, hooks: guardsOf(parent.hooks) },
      {
        asking: inheritAsking(definition ?? {}, definition?.model === undefined ? parent.settings : undefined),
        rights: narrow(parent.rights, withoutOthers(declared, parent), { tools: undefined }),
        own,
        catalog,
        depth: parent.depth + 1,
        model,
        provider: definition?.model === undefined ? parent.provider : this.#models.providerOf(model),
        instructions: definition === undefined ? CHILD_INSTRUCTIONS : definition.instructions,
        notes: definition === undefined ? parent.notes : definition.notes,
        maxTurns: definition?.maxTurns ?? (definition === undefined ? this.#parts.limits.defaultMaxTurns : TURNS.named),
      },
    );
  }

  /** Applies what one call asks for besides: it can only take away, or choose among what is allowed. */
  #changed(base: RunProfile, parent: RunProfile, request: Narrowed): RunProfile | Promise<RunProfile> {
    const { options } = request;
    // `subagent { agent: "x" }` has the turns of a call, `subagent_x` those of a specialist, also where it is not shown.
    const isNamedInCall =
      typeof request.agent === "string" &&
      base.maxTurns === TURNS.named &&
      !isHidden(parent.tools, `subagent_${request.agent}`);
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
    return isPlain ? timed : this.#specialized(timed, parent, request);
  }

  #specialized(base: RunProfile, parent: RunProfile, { options = {} }: Narrowed): RunProfile | Promise<RunProfile> {
    const { allowedTools, systemPrompt, outputSchema, context, isFixed } = options;
    if (allowedTools !== undefined) checkAllowed(allowedTools, base.rights);
    const rights = allowedTools === undefined ? base.rights : narrow(base.rights, UNDECLARED, { tools: allowedTools });
    if (context === "fork" && base.model.external !== undefined)
      throw new Refused(
        "invalid_input",
        `${base.model.id} is an external agent and cannot begin with your conversation`,
      );
    const compiled = outputSchema === undefined ? base.output : compileSchema(outputSchema);
    return andThen(compiled, (output) => {
      const [ofInstructions, ofTask] = isFixed ? [undefined, outputSchema && output] : [outputSchema && output];
      const instructions = withOutput(systemPrompt ?? base.instructions, ofInstructions);
      const taskEnd = ofTask && outputInstructions(ofTask);
      const changed = { ...base, rights, storedRights: toStoredRights(rights), output, instructions, taskEnd };
      return context === "fork" ? asFork(changed, parent) : this.#onModel(changed, parent, options);
    });
  }

  /** The profile with the tools and on the model that a call asks for. */
  #onModel(
    changed: RunProfile,
    parent: RunProfile,
    { allowedTools, model }: SpawnOptions,
  ): RunProfile | Promise<RunProfile> {
    checkModel(model, parent.provider, this.#parts.allowedModels);
    const allowed = allowedTools === undefined ? changed.tools : onlyAllowed(changed.tools, changed.rights);
    return andThen(model === undefined ? changed.model : this.#models.find(model, parent.model), (chosen) => {
      const tools = model === undefined ? allowed : onlyTaken(allowed, chosen);
      const provider = model === undefined ? changed.provider : parent.provider;
      const facts = { price: this.#priceOf(chosen, tools), contextWindow: this.#parts.windowOf(chosen) };
      return { ...changed, ...facts, model: chosen, provider, tools };
    });
  }

  #build(
    source: Pick<AgentDefinition, "subagents" | "delegate"> & Partial<AgentDefinition>,
    made: Made,
  ): RunProfile | Promise<RunProfile> {
    const { own, rights, asking, ...rest } = made;
    // Only its caller knows which tools a child inherits; where the chosen one is missing, the model is free.
    if (made.depth === 0 || source.tools !== undefined) checkToolChoice(source, own);
    const { limits, agents, windowOf } = this.#parts;
    const subagents = source.subagents ?? [];
    const delegate = source.delegate === true;
    const canHaveChildren =
      rights.spawn && (delegate || subagents.length > 0 || own.some((each) => each.category === "subagent"));
    const isDeepest = canHaveChildren && made.depth >= limits.maxDepth;
    const mayCall = own.filter((each) => mayUse(each, rights) && !(isDeepest && each.category === "subagent"));
    const callable = callableAgents(subagents, agents, rights.deny);
    const forChildren = { own: mayCall, subagents, delegate, callable, deny: rights.deny };
    const hasChildren = canHaveChildren && !isDeepest;
    const tools = hasChildren ? [...mayCall, ...this.#delegation.offered(forChildren)] : mayCall;
    const hidden = hasChildren ? this.#delegation.hidden(forChildren) : [];
    const whose = `The output schema of the agent ${source.name ?? "subagent"}`;
    return andThen(source.outputSchema && compileSchemaOf(whose, source.outputSchema), (output) => {
      const instructions = withOutput(made.instructions, output);
      const prompt = systemPrompt({ instructions, notes: made.notes });
      const ready = toolSet({ tools, hidden, isDeepest, instructions: prompt });
      return andThen(ready, (set) => ({
        ...rest,
        instructions,
        agentName: source.name ?? "subagent",
        nickname: source.nickname,
        price: this.#priceOf(made.model, set),
        contextWindow: windowOf(made.model),
        tools: set,
        rights,
        storedRights: toStoredRights(rights),
        subagents,
        delegate,
        timeoutMs: shorterLimit(source.timeoutMs, made.model.external?.timeoutMs),
        settings: {
          ...{ maxOutputTokens: source.maxOutputTokens, outputSchema: undefined },
          ...{ ...asking, toolChoice: source.toolChoice },
        },
        output,
        hooks: source.hooks,
        rules: source.rules,
        budget: source.budget,
        place: source.place,
        ...(source.name !== undefined && source.tools === undefined && { inheritsTools: true as const }),
      }));
    });
  }

  /** Includes the fees of those tools of the provider that the run has. */
  #priceOf(model: Model, { definitions }: ToolSet): Price | undefined {
    const ids = definitions.flatMap(({ provider }) => (provider?.runsThere === true ? [provider.id] : []));
    return this.#parts.priceOf(model, ids);
  }
}

/** The parts that a profile is built from; the rest comes from the definition. */
type Made = Pick<
  RunProfile,
  "rights" | "catalog" | "depth" | "model" | "provider" | "instructions" | "notes" | "maxTurns"
> & { readonly own: readonly Tool[]; readonly asking: AskingOptions };
