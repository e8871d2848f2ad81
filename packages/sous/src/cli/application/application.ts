/** What `sous run` and `sous chat` work with: one configured runtime, its root agent, and who answers questions. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { ApprovalRequest, Approve, RuleAnswer } from "../../core/approval.ts";
import type { Clock } from "../../core/clock.ts";
import type { Configuration, PermissionRule } from "../../core/configuration.ts";
import type { Programs } from "../../core/process.ts";
import type { RunOptions, RunResult } from "../../core/runtime.ts";
import type { Store } from "../../core/store.ts";
import type { Tool } from "../../core/tool.ts";
import type { Runtime } from "../../runtime.ts";
import type { RunFlags } from "../table/run-flags.ts";

export type ApplicationRequest = {
  readonly flags: RunFlags;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The person at the terminal; without one, a call that no rule decides is refused. */
  readonly ask: Approve | undefined;
  /** The store of a run that continues; the caller opened it. */
  readonly store?: Store | undefined;
  /** Files that other options name, such as the log: no tool writes them. */
  readonly optionFiles?: readonly string[] | undefined;
  /** One line for a person: what was ignored, and what to do about it. */
  readonly warn: (line: string) => void;
};

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
  /** Is given the result of every run of a conversation, before anything else is done with it. */
  readonly onEnded?: ((result: RunResult) => void) | undefined;
  /** Rejects in one sentence when there is no such model, or no key for it. */
  checkModel(name: string): Promise<void>;
  /** What a call would do, exactly and in words that are harmless to show. */
  describe(request: ApprovalRequest, columns?: number): ActionWords;
  /** Holds for the agent that asks, in the same place below the same agents, until the command ends. */
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
