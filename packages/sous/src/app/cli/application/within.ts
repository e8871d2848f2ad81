/**
 * The limits of an outer run: sous in an agent in sous. They come in a variable, are read on entry, and can only narrow what
 * flags and the configuration say.
 */

import type { Configuration } from "../../core/configuration.ts";
import { messageOf, UserError } from "../../core/errors.ts";
import { smallerBudget } from "../../core/limits.ts";
import type { OutsideAllowance } from "../../core/outside-agent.ts";
import type { Variables } from "../../core/variables.ts";
import type { Runtime } from "../../runtime.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inert } from "../terminal/text.ts";

/** Undefined when there is no outer run. Throws a `CommandError` for limits that cannot be read. */
export async function readOuterLimits({ SOUS_WITHIN: text = "" }: Variables): Promise<OutsideAllowance | undefined> {
  if (text === "") return undefined;
  const { readWithin } = await import("../../core/within.ts");
  try {
    return readWithin(text);
  } catch (error) {
    throw new CommandError(inert(messageOf(error)), EXIT.configuration);
  }
}

/** How many levels of children are left. */
function levelsLeft(outer: OutsideAllowance): number {
  return Math.max(0, outer.maxDepth - outer.depth);
}

/** At the deepest level of the outer run there are no children at all. */
export function narrowRights<Flags extends Pick<RunFlags, "rights">>(
  flags: Flags,
  outer: OutsideAllowance | undefined,
): Flags {
  if (outer === undefined || levelsLeft(outer) > 0) return flags;
  return { ...flags, rights: { ...flags.rights, noDelegate: true } };
}

/** The smaller of both, limit by limit. */
export function narrowConfiguration(given: Configuration, outer: OutsideAllowance | undefined): Configuration {
  if (outer === undefined) return given;
  const { agent } = given;
  // A limit of 0 levels cannot be set: `narrowRights` leaves no tool that starts a child.
  const maxDepth = Math.min(agent.subagent.maxDepth, Math.max(1, levelsLeft(outer)));
  return {
    ...given,
    agent: {
      ...agent,
      budget: smaller(agent.budget, outer.costUsd),
      maxTokensTotal: smaller(agent.maxTokensTotal, outer.tokens),
      timeout: smaller(agent.timeout, outer.seconds),
      subagent: { ...agent.subagent, maxDepth },
    },
  };
}

/** For a program that serves all runs of a tree, and may be sous: one level below the root, and the limits of the tree. */
export function allowanceInside({ agent }: Configuration, outer: OutsideAllowance | undefined): OutsideAllowance {
  return {
    depth: (outer?.depth ?? 0) + 1,
    maxDepth: outer?.maxDepth ?? agent.subagent.maxDepth,
    tokens: agent.maxTokensTotal,
    costUsd: agent.budget,
    seconds: agent.timeout,
  };
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/**
 * A stored run continues with the limits it was stored with, which may be wider than those of the outer run: only what was
 * started here continues here, and nothing raises its limits.
 */
export function withinOuter(runtime: Runtime, outer: OutsideAllowance | undefined): Runtime {
  if (outer === undefined) return runtime;
  const startedHere = new Set<string>();
  const remembered = <Handle extends { readonly id: string }>(handle: Handle): Handle => {
    startedHere.add(handle.id);
    return handle;
  };
  return {
    ...runtime,
    run: (definition, task, options) => remembered(runtime.run(definition, task, options)),
    fork: (runId, options = {}) => {
      const { tokens, costUsd, seconds } = outer;
      const budget = smallerBudget(options.budget, { tokens, costUsd, seconds });
      const levels = Math.max(1, levelsLeft(outer));
      const maxDepth = Math.min(options.limits?.maxDepth ?? levels, levels);
      return remembered(runtime.fork(runId, { ...options, budget, limits: { ...options.limits, maxDepth } }));
    },
    resume: (runId, options = {}) => {
      if (!startedHere.has(runId)) throw new UserError(NOT_STARTED_HERE);
      const { tokens = 0, costUsd = 0 } = options.addBudget ?? {};
      if (tokens > 0 || costUsd > 0) throw new UserError(NOT_RAISED);
      return remembered(runtime.resume(runId, options));
    },
  };
}

const NOT_STARTED_HERE =
  "A stored run has limits of its own, and this sous runs inside of another run: continue a copy with sous resume --fork, or continue the run from your own terminal";

const NOT_RAISED = "This sous runs inside of another run, whose limits cannot be raised from here";
