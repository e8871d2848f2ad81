/** What models read about the tools for children. Snapshotted: a changed word here changes behaviour. */

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
  delegate: "Hand a task to an external agent and get its answer.",
} as const;

/** The system prompt of a child that a call made up without one. */
export const CHILD_INSTRUCTIONS =
  "You are a subagent: another agent gave you one task. Do it with the tools you have. You cannot ask questions. Your last answer is your report: say what you found, with the evidence, and what you could not do.";

/** The description of a specialist that has none of its own. */
export function describeNamedAgent(name: string): string {
  return `Spawn a subagent named '${name}' to handle a task on its own and report back.`;
}

/** For a tool beside `subagent`, which has the list. */
export const AGENTS_OF_SUBAGENT = "agent is one of those that subagent lists.";

const MAX_LIST_BYTES = 8192;
const MAX_SENTENCE = 200;

/** The agents that a call may name, with the first sentence of each; undefined when there are none. */
export function agentList(agents: readonly AgentFacts[], bytesOf: (text: string) => number): string | undefined {
  if (agents.length === 0) return undefined;
  const lines = ["Agents that agent can name:"];
  let left = MAX_LIST_BYTES - 200;
  for (const [index, { name, description = "" }] of agents.entries()) {
    const about = firstSentence(description);
    const line = about === "" ? `- ${name}` : `- ${name}: ${about}`;
    left -= bytesOf(line) + 1;
    if (left < 0) {
      lines.push(`- and ${agents.length - index} more; an unknown name is answered with the whole list`);
      break;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

type AgentFacts = { readonly name: string; readonly description?: string | undefined };

function firstSentence(description: string): string {
  const text = description
    .slice(0, 10 * MAX_SENTENCE)
    .replace(/\s+/g, " ")
    .trim();
  const end = /[.!?](?= |$)/.exec(text)?.index;
  const sentence = end === undefined ? text : text.slice(0, end + 1);
  return sentence.length <= MAX_SENTENCE ? sentence : `${sentence.slice(0, MAX_SENTENCE).toWellFormed()}…`;
}
