/**
 * From flags, configuration and files to the runtime that `sous run` and `sous chat` use, in four stages: `settings.ts`,
 * `machine.ts`, `tools.ts`, `runtime.ts`. Everything is loaded late.
 */

import type { AgentDefinition } from "../../core/agent.ts";
import type { ApprovalRequest, RuleAnswer } from "../../core/approval.ts";
import type { Clock } from "../../core/clock.ts";
import type { Configuration, PermissionRule } from "../../core/configuration.ts";
import { UnpricedModel } from "../../core/errors.ts";
import type { Programs } from "../../core/process.ts";
import type { RunOptions } from "../../core/runtime.ts";
import type { Store } from "../../core/store.ts";
import type { Tool } from "../../core/tool.ts";
import type { Runtime } from "../../runtime.ts";
import { withoutValuesIn } from "../files/without-secrets.ts";
import { budgetOf, limitsOf } from "./limits.ts";
import { openMachine } from "./machine.ts";
import { Opened } from "./opened.ts";
import { lineOf } from "./rules.ts";
import { openRuntime } from "./runtime.ts";
import { type ApplicationRequest, readSettings } from "./settings.ts";
import { openTools } from "./tools.ts";

export type Application = AsyncDisposable & {
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly clock: Clock;
  /** The root of every run of this command. */
  readonly agent: AgentDefinition;
  /** All tools of the command line, whatever the flags leave to the root. */
  readonly tools: readonly Tool[];
  /** Agents from files, by which a person or a model can call them. */
  readonly agents: readonly AgentDefinition[];
  /** Limits and budget of one run, from the flags and the configuration. */
  readonly runOptions: Pick<RunOptions, "budget" | "limits" | "conversation">;
  /** Undefined when nothing is stored. */
  readonly store: Store | undefined;
  /** For the lines a person runs with `!`. */
  readonly programs: Programs;
  readonly commands: ConversationCommands;
  /** Rejects in one sentence when there is no such model, or no key for it. */
  checkModel(name: string): Promise<void>;
  /** What a call would do, exactly and in words that are harmless to show. */
  describe(request: ApprovalRequest, columns?: number): ActionWords;
  /** Holds for the agent that asks, at the same position below the same agents, until the command ends. */
  remember(rule: PermissionRule, request: ApprovalRequest): void;
  /** What the rules say of a call of the root to this tool, whatever its input; undefined when none decides. */
  ruleOn(toolName: string): RuleAnswer["effect"] | undefined;
};

/** What the agents of a conversation have left running in the background. */
export type ConversationCommands = {
  /** Ends what this root and everything below it has started, or all there is. */
  end(rootId?: string): Promise<void>;
  /** From now on the commands of the root belong to this run, which continues its conversation. */
  moveTo(rootId: string): void;
};

export type ActionWords = {
  readonly title: string;
  /** All of it, wrapped and never cut. */
  readonly lines: readonly string[];
  /** Why a rule has the person asked, where it says so. */
  readonly why: readonly string[];
  /** What "always for this agent" would remember: this action and no other. */
  readonly rule: PermissionRule | undefined;
};

/** Closes everything again when a stage fails. What is opened last is closed first. */
export async function openApplication(asked: ApplicationRequest): Promise<Application> {
  const settings = await readSettings(asked);
  await using opened = new Opened();
  const machine = await openMachine(settings, opened);
  const toolSet = await openTools(settings, machine, opened);
  const { runtime, clock, root, agents } = await openRuntime({ ...settings, ...machine, ...toolSet }, opened);
  const { request, configuration } = settings;
  const { store, programs, commands } = machine;
  const { models, tools, rules } = toolSet;
  const lives = opened.move();
  return {
    configuration,
    runtime,
    clock,
    agent: root,
    tools,
    agents,
    runOptions: {
      budget: budgetOf(configuration),
      limits: limitsOf(configuration),
      conversation: configuration.agent.conversation,
    },
    store,
    programs,
    commands,
    async checkModel(name) {
      const { priceFor } = await import("../../budget/prices.ts");
      const isPriced = priceFor(await models.resolve(name), configuration.prices) !== undefined;
      if (configuration.agent.budget !== undefined && !isPriced) throw new UnpricedModel(name);
    },
    // A person sees all that would run, but for known values. What they do not see they cannot allow for always.
    describe: (action, columns) => {
      const input = withoutValuesIn(action.input);
      const shown = rules.describe({ ...action, input }, columns);
      // Nor can a rule answer what a tool asks by itself.
      const isWhole = input === action.input && action.isFromTool !== true;
      return isWhole ? shown : { ...shown, rule: undefined };
    },
    remember: (rule, asked) => rules.remember(rule, lineOf(asked)),
    ruleOn: (toolName) =>
      rules.decide({ ...NOT_MADE, path: root.name, agent: root.name, toolName, input: {}, cwd: request.cwd })?.effect,
    [Symbol.asyncDispose]: () => lives[Symbol.asyncDispose](),
  };
}

/** A call of the root that has not been made. */
const NOT_MADE = { runId: "", above: [], callId: "" };
