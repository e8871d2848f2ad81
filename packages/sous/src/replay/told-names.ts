/** Names that a recording knows only because a run was told them: by a refusal that lists what there is. */

import type { Recording, RunRecording } from "../core/recording.ts";

const UNKNOWN_TOOL = /^(?:Unknown tool|You may not use the tool): /;
const TOO_DEEP = "Maximum subagent recursion depth";

/** What `agent` is called in the record of a child that a call made up. */
export const MADE_UP = "subagent";

/** True when the result says that there was no such tool for this run. */
export function isUnknownTool(output: string): boolean {
  return UNKNOWN_TOOL.test(output);
}

/** True when it says that the run was too deep for children: whoever hears that could have had some. */
export function isTooDeep(output: string): boolean {
  return output.startsWith(TOO_DEEP);
}

/** The tools a run was told it has, when it called one it had not. */
export function toolsTold(output: string): string[] {
  const list = UNKNOWN_TOOL.test(output) ? listBehind(output, "Your tools: ") : undefined;
  return list?.split(", ") ?? [];
}

function knownAgents(message: string): string | undefined {
  return message.startsWith("Unknown agent: ") ? listBehind(message, " Known: ", "Unknown agent: ".length) : undefined;
}

/** What stands between the first `words` and the full stop at the end. */
function listBehind(text: string, words: string, from = 0): string | undefined {
  const at = text.indexOf(words, from);
  const start = at + words.length;
  return at !== -1 && start < text.length && text.endsWith(".") ? text.slice(start, -1) : undefined;
}

/** The agents that runs were told of: those of their own definition, and those that any call may name. */
export type AgentsTold = {
  /** Those that any call may name: what all lists have. */
  readonly shared: readonly string[];
  /** Those of the definition of this run. */
  own(run: RunRecording): readonly string[];
};

/** Each list has the agents of the run's definition and those that any call may name, sorted: only other lists tell them apart. */
export function agentsTold({ events, runs }: Recording): AgentsTold {
  const lists = new Map<RunRecording, string[]>();
  for (const event of events) {
    const list = event.type === "spawn-refused" ? knownAgents(event.message)?.split(", ") : undefined;
    const run = runs.get(event.runId);
    if (list !== undefined && run !== undefined) lists.set(leaderOf(run), list);
  }
  const [first = [], ...others] = lists.values();
  const shared = first.filter((name) => others.every((list) => list.includes(name)));
  return {
    shared,
    own(run) {
      const list = lists.get(run) ?? [];
      const own = list.filter((name) => !shared.includes(name));
      return own.length === 0 && handsOnMore(run) ? list.slice(0, 1) : own;
    },
  };
}

/** Tools that a run may only hand on are those of an agent of its own, called or not. */
function handsOnMore({ start: { rights } }: RunRecording): boolean {
  return rights.delegate.some((name) => !rights.use.includes(name));
}

/** The run whose definition a made-up child has its tools and specialists from. */
function leaderOf(run: RunRecording): RunRecording {
  return run.start.agent === MADE_UP && run.parent !== undefined ? leaderOf(run.parent) : run;
}
