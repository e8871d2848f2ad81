/** `acpx`, a client that others wrote, drives `sous acp serve`: prompt, permission, children, cancel, load, mode. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Look } from "./look.ts";
import { LEAD, type Mock, WORDS } from "./mock.ts";
import { peerFile } from "./peers.ts";
import type { Place } from "./place.ts";

type Looked = { mock: Mock; place: Place; look: Look };
/** What went over the wire, as acpx shows it: requests, answers and updates of both sides. */
type Wire = {
  method?: string;
  params?: { sessionId?: string; update?: Update; toolCall?: Update };
  result?: { stopReason?: string; outcome?: unknown };
};
type Update = {
  sessionUpdate?: string;
  title?: string;
  status?: string;
  content?: { text?: string };
  locations?: { path: string }[];
};
type Ended = { code: number | null; wire: Wire[]; lines: string[]; stderr: string };

const MAIN = join(import.meta.dirname, "../../packages/sous/src/app/cli/main.ts");
const SERVE = `${process.execPath} --conditions=sous-source ${MAIN} acp serve`;
/** Seconds that acpx keeps the agent after a prompt. */
const [SHORT, LONG] = ["1", "60"];
const LONGEST_MS = 90_000;

export async function lookAtServe(looked: Looked): Promise<void> {
  const { look, place } = looked;
  mkdirSync(join(place.folder, "home"));
  await look.during("acpx: prompt", () => prompt(looked));
  await look.during("acpx: permission", () => permission(looked));
  await look.during("acpx: children", () => children(looked));
  await look.during("acpx: cancel and mode", () => cancelAndMode(looked));
  await look.during("acpx: load", () => load(looked));
}

async function prompt(looked: Looked): Promise<void> {
  const { look } = looked;
  const { wire, lines, code, stderr } = await acpx(looked, ["exec", `${WORDS.say} to acpx`]);
  const isAnswered = code === 0 && stopOf(wire) === "end_turn" && saidIn(wire) === "Hello back.";
  look.at("acpx: a prompt is answered", isAnswered, [code, stderr, lines]);
  look.at("acpx: sous prints nothing but the protocol", wire.length === lines.length, lines);
}

async function permission(looked: Looked): Promise<void> {
  const { look, place } = looked;
  for (const [flag, isAllowed] of [
    ["--approve-all", true],
    ["--deny-all", false],
  ] as const) {
    const file = join(place.cwd, `acpx${flag}.txt`);
    const { wire, stderr } = await acpx(looked, [flag, "exec", `${WORDS.edit} ${file}`]);
    const asked = wire.filter(({ method }) => method === "session/request_permission");
    const paths = asked.flatMap(({ params }) => params?.toolCall?.locations ?? []).map(({ path }) => path);
    look.at(`acpx ${flag}: it is asked with the path`, asked.length === 1 && paths.includes(file), [asked, stderr]);
    const isDone = existsSync(file) === isAllowed && stopOf(wire) === "end_turn";
    look.at(`acpx ${flag}: the file is ${isAllowed ? "" : "not "}written, and the turn ends`, isDone, wire.slice(-3));
  }
}

async function children(looked: Looked): Promise<void> {
  const { look, mock } = looked;
  const child = (label: string, task: string) => ({ name: "subagent", input: { label, task_prompt: task } });
  mock.script("deep 0", [() => [child("one", "deep 1")], "Root done."]);
  mock.script("deep 1", [() => [child("two", "deep 2")], "One done."]);
  mock.script("deep 2", [() => [{ name: "list_files", input: {} }], "Two done."]);
  const { wire, stderr } = await acpx(looked, ["exec", "deep 0"]);
  const titles = wire.map(({ params }) => params?.update?.title ?? "");
  for (const path of ["sous/one · ", "sous/one/two · ", "sous/one/two · list_files"])
    look.at(
      `acpx: shows ${path.trim()}`,
      titles.some((title) => title.startsWith(path)),
      [titles, stderr],
    );
}

async function cancelAndMode(looked: Looked): Promise<void> {
  const { look, place } = looked;
  await acpx(looked, ["sessions", "new"]);
  const cancelled = { isAsked: false };
  const { wire, stderr } = await acpx(looked, ["--ttl", LONG, "prompt", `${WORDS.slow} for acpx`], (message) => {
    if (cancelled.isAsked || message.params?.update?.sessionUpdate !== "agent_message_chunk") return;
    cancelled.isAsked = true;
    void acpx(looked, ["cancel"]);
  });
  const isCancelled = cancelled.isAsked && stopOf(wire) === "cancelled";
  look.at("acpx: a cancelled prompt is answered as cancelled", isCancelled, [stopOf(wire), stderr, wire.slice(-2)]);
  const set = await acpx(looked, ["set-mode", "read-only"]);
  const file = join(place.cwd, "acpx-read-only.txt");
  const after = await acpx(looked, ["--approve-all", "--ttl", SHORT, "prompt", `${WORDS.edit} ${file}`]);
  const isAsked = after.wire.some(({ method }) => method === "session/request_permission");
  const seen = [set.code, set.stderr, after.stderr, after.wire.slice(-4)];
  look.at("acpx: in the mode read-only nothing is written or asked", !isAsked && !existsSync(file), seen);
  look.at("acpx: the same session is prompted after a cancel", stopOf(after.wire) === "end_turn", seen);
}

/** acpx resumes a session where it can, without its history; behind a filter that takes `resume` away it loads it. */
async function load(looked: Looked): Promise<void> {
  const { look, mock, place } = looked;
  const script = join(place.folder, "serve-without-resume.sh");
  const sent = join(place.folder, "sent.txt");
  writeFileSync(script, `#!/bin/sh\n${SERVE} | sed -u 's/"resume":{},*//' | tee -a ${sent}\n`, { mode: 0o755 });
  for (const [method, agent] of [
    ["session/resume", SERVE],
    ["session/load", script],
  ] as const) {
    const [first, second] = [`${WORDS.say} first before ${method}`, `${WORDS.say} second after ${method}`];
    await acpx(looked, ["sessions", "new"], undefined, agent);
    const before = await acpx(looked, ["--ttl", SHORT, "prompt", first], undefined, agent);
    await untilGone(place);
    const { wire, stderr } = await acpx(looked, ["--ttl", SHORT, "prompt", second], undefined, agent);
    const id = before.wire.findLast(({ method: sent }) => sent === "session/prompt")?.params?.sessionId;
    const continued = wire.find((message) => message.method === method)?.params?.sessionId;
    const isSame = id !== undefined && continued === id;
    look.at(`acpx: another process continues the session by ${method}`, isSame, [wire, stderr]);
    const heard = mock.heardBy(LEAD).at(-1)?.join("\n") ?? "";
    look.at(
      `acpx: after ${method} the model knows both messages`,
      heard.includes(first) && heard.includes(second),
      heard,
    );
    await untilGone(place);
  }
  // acpx does not show what it is told of the past.
  const history = readFileSync(sent, "utf8")
    .split("\n")
    .filter((line) => line.includes('"user_message_chunk"'));
  look.at("acpx: session/load sends the history again", history.length === 1, history);
}

/** One command of acpx with what it shows; `onMessage` hears it line by line. */
async function acpx(
  { mock, place }: Looked,
  parameters: readonly string[],
  onMessage: (message: Wire) => void = () => {},
  agent = SERVE,
): Promise<Ended> {
  const given = ["--agent", agent, "--cwd", place.cwd, "--format", "json", ...parameters];
  const child = spawn(process.execPath, [peerFile("acpx/dist/cli.js"), ...given], {
    cwd: place.cwd,
    env: { ...environmentOf(mock, place), [place.mark.name]: place.mark.value },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  const ended: Ended = { code: null, wire: [], lines: [], stderr: "" };
  child.stderr.on("data", (chunk) => (ended.stderr += chunk));
  createInterface({ input: child.stdout }).on("line", (line) => {
    ended.lines.push(line);
    const message = parsed(line);
    if (message === undefined) return;
    ended.wire.push(message);
    onMessage(message);
  });
  ended.code = await new Promise((resolve) => child.on("close", resolve));
  return ended;
}

function environmentOf(mock: Mock, place: Place): Record<string, string> {
  const { PATH = "" } = process.env;
  const model = `openai-compatible/${LEAD}`;
  return { PATH, HOME: join(place.folder, "home"), OPENAI_COMPATIBLE_BASE_URL: `${mock.url}/v1`, SOUS_MODEL: model };
}

/** Its processes end by themselves when nothing was asked for a second. */
async function untilGone(place: Place): Promise<void> {
  const remains = await place.remains();
  if (remains.length > 0) throw new Error(`acpx keeps ${remains.join(", ")}`);
}

function parsed(line: string): Wire | undefined {
  try {
    return JSON.parse(line) as Wire;
  } catch {
    return undefined;
  }
}

function stopOf(wire: readonly Wire[]): string | undefined {
  return wire.findLast(({ result }) => result?.stopReason !== undefined)?.result?.stopReason;
}

function saidIn(wire: readonly Wire[]): string {
  const chunks = wire.filter(({ params }) => params?.update?.sessionUpdate === "agent_message_chunk");
  return chunks.map(textOf).join("");
}

function textOf({ params }: Wire): string {
  return params?.update?.content?.text ?? "";
}
