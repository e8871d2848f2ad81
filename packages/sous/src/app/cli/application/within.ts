/**
 * The limits of an outer run: sous in an agent in sous. They come in a variable, are read on entry, and can only narrow what
 * flags and the configuration say.
 */

import { messageOf, UserError } from "../../../core/errors.ts";
import type { ExternalAllowance } from "../../../core/external-agent.ts";
import type { Variables } from "../../../core/process.ts";
import { narrowerLimits, smallerBudget } from "../../../core/words/limits.ts";
import type { ReadingRuntime } from "../../../runtime.ts";
import type { Configuration } from "../../config/configuration.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inert } from "../terminal/text.ts";

/** Undefined when there is no outer run. Throws a `CommandError` for limits that cannot be read. */
export async function readOuterLimits({ SOUS_WITHIN: text = "" }: Variables): Promise<ExternalAllowance | undefined> {
  if (text === "") return undefined;
  const { readWithin } = await import("../../../core/within.ts");
  try {
    return readWithin(text);
  } catch (error) {
    throw new CommandError(inert(messageOf(error)), EXIT.configuration);
  }
}

/** The levels of children that are left. */
function levelsLeft(outer: ExternalAllowance): number {
  return Math.max(0, outer.maxDepth - outer.depth);
}

/** Forbids children at the deepest level of the outer run. */
export function narrowRights<Flags extends Pick<RunFlags, "rights">>(
  flags: Flags,
  outer: ExternalAllowance | undefined,
): Flags {
  if (outer === undefined || levelsLeft(outer) > 0) return flags;
  return { ...flags, rights: { ...flags.rights, noDelegate: true } };
}

/** The smaller of both, limit by limit. */
export function narrowConfiguration(given: Configuration, outer: ExternalAllowance | undefined): Configuration {
  if (outer === undefined) return given;
  const { agent } = given;
  // A limit of 0 levels cannot be set: `narrowRights` leaves no tool that starts a child.
  const limits = narrowerLimits(agent.limits, { maxDepth: Math.max(1, levelsLeft(outer)) });
  return { ...given, agent: { ...agent, budget: smallerBudget(agent.budget, outer) ?? {}, limits } };
}

/**
 * Makes the allowance of a program that serves all runs of a tree, and may be sous: one level below the root, the limits of the
 * tree.
 */
export function allowanceInside({ agent }: Configuration, outer: ExternalAllowance | undefined): ExternalAllowance {
  const { tokens, costUsd, durationMs } = agent.budget;
  const maxDepth = outer?.maxDepth ?? agent.limits.maxDepth;
  return { depth: (outer?.depth ?? 0) + 1, maxDepth, tokens, costUsd, durationMs };
}

/**
 * A stored run continues with the limits it was stored with, which may be wider than those of the outer run: only what was
 * started here continues here, and nothing raises its limits.
 */
export function withinOuter(runtime: ReadingRuntime, outer: ExternalAllowance | undefined): ReadingRuntime {
  if (outer === undefined) return runtime;
  const startedHere = new Set<string>();
  const remembered = <Handle extends { readonly id: string }>(handle: Handle): Handle => {
    startedHere.add(handle.id);
    return handle;
  };
  return {
    ...runtime,
    run: (definition, task, options) => remembered(runtime.run(definition, task, options)),
    fork: (runId, options = {}, earlier) => {
      const budget = smallerBudget(options.budget ?? {}, outer);
      const levels = Math.max(1, levelsLeft(outer));
      const maxDepth = Math.min(options.limits?.maxDepth ?? levels, levels);
      const limits = { ...options.limits, maxDepth };
      return remembered(runtime.fork(runId, { ...options, budget, limits }, earlier));
    },
    resume: (runId, options = {}, earlier) => {
      if (!startedHere.has(runId)) throw new UserError(NOT_STARTED_HERE);
      const { tokens = 0, costUsd = 0 } = options.addBudget ?? {};
      if (tokens > 0 || costUsd > 0) throw new UserError(NOT_RAISED);
      return remembered(runtime.resume(runId, options, earlier));
    },
    submit: () => Promise.reject(new UserError(NOT_PLACED)),
    workOn: () => Promise.reject(new UserError(NOT_PLACED)),
    work: () => Promise.reject(new UserError(NOT_PLACED)),
  };
}

const NOT_PLACED =
  "This sous runs inside of another run, whose limits do not hold on workers: do this from your own terminal";

const NOT_STARTED_HERE =
  "A stored run has limits of its own, and this sous runs inside of another run: continue a copy with sous resume --fork, or continue the run from your own terminal";

const NOT_RAISED = "This sous runs inside of another run, whose limits cannot be raised from here";
