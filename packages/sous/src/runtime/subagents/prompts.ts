/** Texts that models read about the tools for children. Snapshotted: a changed word here changes behaviour. */

import { oneLine, shortened } from "../../core/clean-text.ts";
import { utf8Length } from "../../core/usage.ts";

export const DESCRIPTIONS = {
  subagent:
    "Hand a self-contained task to a subagent with its own conversation. It sees only task_prompt, not your history, works with some of your tools, and answers with one bounded report. Use it for work whose details you do not need to keep. To run several at once use parallel_subagent.",
  parallel:
    "Hand several independent tasks to subagents that work at the same time. Returns one result per task, in the order given, also for tasks that failed.",
  send: "Send a further message to a subagent you started. A finished one continues its conversation and reports again; a running one reads the message before its next turn.",
  report: "Read the whole of a report that was cut, from a byte offset on.",
  wait: "Wait for background subagents and get their reports. Each report is delivered once.",
  cancel: "Stop a subagent you started. wrap-up lets it say what it has; stop ends it at once.",
  list: "List the subagents you started, with their state.",
  spawn: "Hand a self-contained task to a subagent with its own conversation and get its answer.",
  named:
    "Hand a self-contained task to one of your agents, which has its own instructions and conversation. It sees only task_prompt, not your history, and answers with one bounded report.",
  find: "Find agents by what they do: those whose names and descriptions have the words of the query, the best first. subagent takes their names as agent.",
  delegate: "Hand a task to an external agent and get its answer.",
} as const;

/** The system prompt of a child that a call made up without one. */
export const CHILD_INSTRUCTIONS =
  "You are a subagent: another agent gave you one task. Do it with the tools you have. You cannot ask questions. Your last answer is your report: say what you found, with the evidence, and what you could not do.";

/** The description of a specialist that has none of its own. */
export function describeNamedAgent(name: string): string {
  return `Spawn a subagent named '${name}' to handle a task on its own and report back.`;
}

/** The description of `agent` in a tool beside `subagent`, which has the list. */
export const AGENTS_OF_SUBAGENT = "agent is one of those that subagent lists.";

const MAX_LIST_BYTES = 8192;
/** Max bytes of the line about agents that are left out. */
const NOTICE_BYTES = 200;
const MAX_SENTENCE = 200;

/**
 * The agents that a call may name, with the first sentence of each, within 8 KB; undefined when there are none. `canFind`:
 * `agents_find` is there to find those that are left out.
 */
export function agentList(agents: readonly AgentFacts[], canFind: boolean): string | undefined {
  if (agents.length === 0) return undefined;
  const lines = ["Agents that agent can name:"];
  let left = MAX_LIST_BYTES - NOTICE_BYTES;
  for (const [index, each] of agents.entries()) {
    const line = agentLine(each, firstSentence(oneLine(each.description)));
    left -= utf8Length(line) + 1;
    if (left < 0) {
      const how = canFind
        ? "agents_find finds them by what they do"
        : "an unknown name is answered with those most like it";
      lines.push(`- and ${agents.length - index} more; ${how}`);
      break;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

export type AgentFacts = { readonly name: string; readonly description?: string | undefined };

export function agentLine({ name }: AgentFacts, about: string): string {
  return about === "" ? `- ${name}` : `- ${name}: ${about}`;
}

function firstSentence(text: string): string {
  const end = /[.!?](?= |$)/.exec(text)?.index;
  return shortened(end === undefined ? text : text.slice(0, end + 1), MAX_SENTENCE);
}
