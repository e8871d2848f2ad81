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

/** The agents that runs were told of: first those of their own definition, then those that anybody may name. */
export type AgentsTold = {
  /** Those that anybody may name, in their order: what all lists end with. */
  readonly shared: readonly string[];
  /** Those of the definition of this run. */
  own(run: RunRecording): readonly string[];
};

/** `called` are the specialists that the runs of a definition have called, as far as that is known. */
export function agentsTold(
  { events, runs }: Recording,
  called: (leader: RunRecording) => ReadonlySet<string>,
): AgentsTold {
  const lists = new Map<RunRecording, string[]>();
  for (const event of events) {
    const list = event.type === "spawn-refused" ? knownAgents(event.message)?.split(", ") : undefined;
    const run = runs.get(event.runId);
    if (list !== undefined && run !== undefined) lists.set(leaderOf(run), list);
  }
  const shared = commonEnd([...lists].map(([leader, list]) => withoutFirst(list, new Set(called(leader)))));
  return {
    shared,
    own: (run) => lists.get(run)?.slice(0, -shared.length || undefined) ?? [],
  };
}

/** The run whose definition a made-up child has its tools and specialists from. */
function leaderOf(run: RunRecording): RunRecording {
  return run.start.agent === MADE_UP && run.parent !== undefined ? leaderOf(run.parent) : run;
}

/** Its own come first, each once. */
function withoutFirst(list: readonly string[], own: Set<string>): readonly string[] {
  let first = 0;
  while (own.delete(list[first] ?? "")) first += 1;
  return list.slice(first);
}

function commonEnd(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  let length = first.length;
  for (const list of others) {
    let same = 0;
    while (same < Math.min(length, list.length) && list.at(-1 - same) === first.at(-1 - same)) same += 1;
    length = same;
  }
  return first.slice(first.length - length);
}
