/**
 * An agent without the SDK that does what it is told: how it begins is its argument, what it does in a turn is the prompt. Both
 * are JSON. It can break every rule of the protocol.
 */

import { closeSync } from "node:fs";
import { createInterface } from "node:readline";

/** What goes wrong before the first prompt. */
export type BadStart = {
  /** Lines that are no messages, before everything else. */
  banner?: boolean;
  /** A request that is not answered. */
  silentAt?: string;
  /** Answers this method with an error. */
  refuseAt?: string;
  /** Stays when its input is closed. */
  isStubborn?: boolean;
  /** Written to standard error at the start. */
  stderrBytes?: number;
  /** Parts of its answers. */
  info?: object;
  session?: object;
  capabilities?: object;
  version?: number;
  /** Given to every session; else each has its own. */
  sessionId?: string;
};

/** One thing it does in a turn. `$S` in a text stands for the session's id. */
export type Step =
  | { update: object }
  | { message: object }
  | { line: string }
  /** A line of so many bytes. */
  | { bytes: number }
  /** A request, whose answer is waited for and kept. */
  | { ask: string; params: object; id?: string | number }
  /** The same, and its answer is not waited for. */
  | { asking: string; params: object }
  | { until: "cancel" | "answers" }
  | { say: string }
  /** Says all answers it got, as JSON. */
  | { tell: "answers" }
  /** Says what came along with its requests as `_meta`, as JSON. */
  | { tell: "metas" }
  | { variable: string }
  | { die: number }
  | { close: "output" | "input" }
  /** Answers the prompt; without one it ends well. */
  | { answer: object }
  /** Ends the turn without an answer. */
  | { answer: null };

const start: BadStart = JSON.parse(process.argv[2] ?? "{}");
const answers: unknown[] = [];
const waiting = new Map<string | number, (message: Json) => void>();
const cancelled = new Map<string, () => void>();
const metas: unknown[] = [];
let sessions = 0;
let asked = 0;
let open = 0;
let onNoneOpen = (): void => {};

type Json = Record<string, unknown>;

if (start.stderrBytes !== undefined) process.stderr.write(`${"e".repeat(start.stderrBytes)}\n`);
if (start.banner)
  process.stdout.write('Welcome!\n\u001b[31mred\u001b[0m\n[1,2]\n"text"\n{"jsonrpc":"1.0","id":1}\n{ half\n');
if (start.isStubborn) setInterval(() => {}, 60_000);

createInterface({ input: process.stdin }).on("line", (line) => void receive(JSON.parse(line)));

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function receive(message: Json): Promise<void> {
  const { id, method, params } = message as { id?: string | number; method?: string; params?: Json };
  if (method === undefined) return waiting.get(id ?? "")?.(message);
  if (method === start.silentAt) return;
  if (method === "session/cancel") return cancelled.get(String(params?.sessionId))?.();
  if (id === undefined) return;
  if (method === start.refuseAt)
    return send({ id, error: { code: -32603, message: "Internal error", data: "on purpose" } });
  const result = await answerTo(method, params ?? {});
  if (result !== null) send({ id, result });
}

async function answerTo(method: string, params: Json): Promise<object | null> {
  if (params._meta !== undefined) metas.push([method, params._meta]);
  switch (method) {
    case "initialize":
      return {
        protocolVersion: start.version ?? 1,
        agentInfo: { name: "bad", version: "1", ...start.info },
        agentCapabilities: start.capabilities ?? { loadSession: true },
        asked: params,
      };
    case "session/new":
      sessions += 1;
      return { sessionId: start.sessionId ?? `s${sessions}`, ...start.session };
    case "session/load":
      update(String(params.sessionId), said("history"));
      return start.session ?? {};
    case "session/prompt":
      return await turn(String(params.sessionId), params.prompt as { text: string }[]);
    default:
      return {};
  }
}

async function turn(sessionId: string, prompt: { text: string }[]): Promise<object | null> {
  const text = prompt[0]?.text ?? "";
  answers.length = 0;
  const isCancelled = new Promise<void>((resolve) => cancelled.set(sessionId, resolve));
  if (!text.startsWith("[")) {
    update(sessionId, said(`you said: ${text}`));
    return { stopReason: "end_turn" };
  }
  const steps: Step[] = JSON.parse(text.replaceAll("$S", sessionId));
  for (const step of steps) {
    if ("update" in step) update(sessionId, step.update);
    if ("message" in step) send(step.message);
    if ("line" in step) process.stdout.write(`${step.line}\n`);
    if ("bytes" in step) await writeLine(step.bytes);
    if ("ask" in step) answers.push(await ask(step.ask, step.params, step.id));
    if ("asking" in step) void ask(step.asking, step.params).then((answer) => answers.push(answer));
    if ("until" in step) await (step.until === "cancel" ? isCancelled : noneOpen());
    if ("say" in step) update(sessionId, said(step.say));
    if ("tell" in step) update(sessionId, said(JSON.stringify(step.tell === "metas" ? metas : answers)));
    if ("variable" in step) update(sessionId, said(process.env[step.variable] ?? "unset"));
    if ("die" in step) await die(step.die);
    if ("close" in step) await closeOne(step.close);
    if ("answer" in step) return step.answer;
  }
  return { stopReason: "end_turn" };
}

function said(text: string): object {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function update(sessionId: string, given: object): void {
  send({ method: "session/update", params: { sessionId, update: given } });
}

function ask(method: string, params: object, given?: string | number): Promise<unknown> {
  asked += 1;
  const id = given ?? `q${asked}`;
  open += 1;
  send({ id, method, params });
  return new Promise((resolve) => {
    waiting.set(id, ({ result, error }) => {
      open -= 1;
      if (open === 0) setImmediate(onNoneOpen);
      resolve(result ?? { error });
    });
  });
}

function noneOpen(): Promise<void> {
  return open === 0
    ? Promise.resolve()
    : new Promise((resolve) => {
        onNoneOpen = resolve;
      });
}

async function writeLine(bytes: number): Promise<void> {
  const piece = "x".repeat(64 * 1024);
  for (let left = bytes; left > 0; left -= piece.length) {
    if (!process.stdout.write(piece.slice(0, left)))
      await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
  process.stdout.write("\n");
}

function die(code: number): Promise<void> {
  return new Promise(() => process.stdout.write("", () => process.exit(code)));
}

async function closeOne(which: "output" | "input"): Promise<void> {
  // To destroy the stream leaves the descriptor open.
  if (which === "input") closeSync(0);
  else await new Promise<void>((resolve) => void process.stdout.end(resolve));
  setInterval(() => {}, 60_000);
}
