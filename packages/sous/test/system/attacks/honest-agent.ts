/**
 * An external agent that asks before it acts, and acts only after a yes. Its argument is a file with its tasks; what came of each of
 * them is written into the file of its second argument.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";

/** One act of the agent. Each of its paths is absolute, and is the one that this agent takes the words of its question for. */
export type Task = {
  name: string;
  /** What it says about the act, as a call of ACP. */
  question: object;
  act: { read: string } | { write: string } | { remove: string };
};

/** Whether it was allowed, and what it then read or why it failed. */
export type Done = { name: string; isAllowed: boolean; text: string };

type Message = { id?: number | string; method?: string; params?: { sessionId: string }; result?: unknown };

const [tasks = "", results = ""] = process.argv.slice(2);
const waiting = new Map<number | string, (result: unknown) => void>();
const OPTIONS = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
];

createInterface({ input: process.stdin }).on("line", (line) => void receive(JSON.parse(line)));

async function receive({ id, method, params, result }: Message): Promise<void> {
  if (id === undefined) return;
  if (method === undefined) return waiting.get(id)?.(result);
  if (method === "session/prompt") await work(params?.sessionId ?? "");
  const answers: Record<string, object> = {
    initialize: { protocolVersion: 1, agentInfo: { name: "honest", version: "1" }, agentCapabilities: {} },
    "session/new": { sessionId: "s1" },
    "session/prompt": { stopReason: "end_turn" },
  };
  send({ id, result: answers[method] ?? {} });
}

async function work(sessionId: string): Promise<void> {
  const done: Done[] = [];
  for (const task of JSON.parse(readFileSync(tasks, "utf8")) as Task[]) {
    const isAllowed = await ask(sessionId, `t${done.length}`, task.question);
    done.push({ name: task.name, isAllowed, text: isAllowed ? act(task.act) : "" });
  }
  writeFileSync(results, JSON.stringify(done));
}

async function ask(sessionId: string, id: string, question: object): Promise<boolean> {
  const toolCall = { toolCallId: id, title: id, ...question };
  send({ id, method: "session/request_permission", params: { sessionId, toolCall, options: OPTIONS } });
  const result = await new Promise<unknown>((resolve) => waiting.set(id, resolve));
  return (result as { outcome?: { optionId?: string } } | undefined)?.outcome?.optionId === "yes";
}

function act(what: Task["act"]): string {
  try {
    if ("read" in what) return readFileSync(what.read, "utf8");
    if ("remove" in what) rmSync(what.remove, { recursive: true });
    else {
      mkdirSync(dirname(what.write), { recursive: true });
      writeFileSync(what.write, "evil");
    }
    return "done";
  } catch (error) {
    return String(error);
  }
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
