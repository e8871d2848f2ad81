/** `server-everything`, the server that the makers of MCP test clients with, over stdio and over HTTP, for children of a run. */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Look } from "../external/look.ts";
import type { Mock, ToolCall, Turn } from "../external/mock.ts";
import { peerFile } from "../external/peers.ts";
import { type Ended, type Home, makeHome, resultOf, runSous } from "./home.ts";

type Way = "stdio" | "http";
type Looked = { mock: Mock; look: Look; home: Home; way: Way };

const SERVER = peerFile("@modelcontextprotocol/server-everything/dist/index.js");
const PREFIX = "mcp__everything__";
const [ECHO, IMAGE, WEATHER, LONG, ENVIRONMENT] = [
  "echo",
  "get-tiny-image",
  "get-structured-content",
  "trigger-long-running-operation",
  "get-env",
].map((name) => `${PREFIX}${name}`) as [string, string, string, string, string];

/** Two tools of the server for one child; the others have one each. */
const AGENTS: Record<string, Record<string, unknown>> = {
  reader: { tools: [ECHO, IMAGE] },
  weather: { tools: [WEATHER] },
  patient: { tools: [LONG] },
  hasty: { tools: [LONG], timeout: "3s" },
  nosy: { tools: [ENVIRONMENT] },
};

/** Variables of the user that no server may see. */
const SECRETS: Record<string, string> = Object.fromEntries(
  ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN"]
    .concat("DATABASE_URL", "SSH_AUTH_SOCK", "KUBECONFIG", "HTTPS_PROXY", "SLACK_WEBHOOK", "MY_OWN_PASSWORD")
    .map((name, index) => [name, `planted-secret-${index}-${"x".repeat(20)}`]),
);
const GIVEN = "INTEROP_GIVEN";
const MAY_TAKE_MS = 5_000;

export async function lookAtEverything(mock: Mock, look: Look): Promise<void> {
  await overStdio(mock, look);
  await overHttp(mock, look);
}

async function overStdio(mock: Mock, look: Look): Promise<void> {
  using home = makeHome(mock.url);
  const looked: Looked = { mock, look, home, way: "stdio" };
  // What the server hears is written down, to see what it is told about a cancelled call.
  const script = 'tee -a "$0" | exec "$1" "$2" stdio';
  const args = ["-c", script, heardFile(home), process.execPath, SERVER];
  setUp(looked, { command: "/bin/sh", args, env: { [GIVEN]: "yes" } });
  await lookAtCalls(looked);
  await look.during("everything stdio: variables", () => environment(looked));
  await look.during("everything stdio: interrupt", () => interrupt(looked));
}

async function overHttp(mock: Mock, look: Look): Promise<void> {
  using home = makeHome(mock.url);
  const port = await freePort();
  const { PATH = "" } = process.env;
  const server = spawn(process.execPath, [SERVER, "streamableHttp"], {
    env: { PATH, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    await new Promise((listens) => server.stderr.once("data", listens));
    const looked: Looked = { mock, look, home, way: "http" };
    setUp(looked, { url: `http://127.0.0.1:${port}/mcp` });
    await lookAtCalls(looked);
  } finally {
    server.kill("SIGKILL");
  }
}

function setUp({ home }: Looked, entry: Record<string, unknown>): void {
  home.configure({
    mcp_servers: { everything: { ...entry, agents: Object.keys(AGENTS) } },
    permissions: [ECHO, IMAGE, WEATHER, LONG, ENVIRONMENT].map((name) => ({ allow: name })),
  });
  for (const [name, values] of Object.entries(AGENTS)) {
    home.agent(name, { description: `Is ${name}.`, ...values });
  }
}

async function lookAtCalls(looked: Looked): Promise<void> {
  const { look, way } = looked;
  await look.during(`everything ${way}: text and image`, () => textAndImage(looked));
  await look.during(`everything ${way}: structured content`, () => structured(looked));
  await look.during(`everything ${way}: progress`, () => progress(looked));
  await look.during(`everything ${way}: cancel`, () => cancel(looked));
}

async function textAndImage(looked: Looked): Promise<void> {
  const { look, mock, way } = looked;
  const ended = await runChildren(looked, "text", [
    [
      "reader",
      [
        { name: ECHO, input: { message: "hello there" } },
        { name: IMAGE, input: {} },
      ],
    ],
  ]);
  const [echo, image] = [resultOf(ended, ECHO), resultOf(ended, IMAGE)];
  const seen = [ended.code, ended.stderr, ended.lines.slice(-6)];
  look.at(`everything ${way}: text`, ended.code === 0 && echo?.output?.includes("hello there") === true, seen);
  look.at(`everything ${way}: an image is in the journal`, image?.files?.length === 1, image ?? seen);
  const requests = mock.requestsFor(taskOf(way, "text", "reader"));
  const isSent = JSON.stringify(requests.at(-1)?.messages ?? []).includes("data:image/png;base64,");
  look.at(`everything ${way}: the image reaches the model`, isSent, requests.at(-1)?.messages);
  const offered = (requests[0]?.tools ?? [])
    .map((each) => each.function.name)
    .filter((name) => name.startsWith("mcp__"));
  look.at(
    `everything ${way}: the child is offered its two tools`,
    offered.sort().join() === [ECHO, IMAGE].join(),
    offered,
  );
  const [atRoot] = mock.requestsFor(rootTask(way, "text"));
  const isFree = atRoot !== undefined && !JSON.stringify(atRoot.tools).includes(PREFIX);
  look.at(`everything ${way}: its parent is offered none`, isFree, atRoot?.tools?.length);
}

async function structured(looked: Looked): Promise<void> {
  const { look, way } = looked;
  const ended = await runChildren(looked, "structured", [
    ["weather", [{ name: WEATHER, input: { location: "Chicago" } }]],
  ]);
  const result = resultOf(ended, WEATHER);
  const isText = result?.output?.includes("Light rain") === true;
  look.at(
    `everything ${way}: structured content as text, once`,
    isText && result.output?.split("Light rain").length === 2,
    [result, ended.stderr],
  );
}

async function progress(looked: Looked): Promise<void> {
  const { look, way } = looked;
  const ended = await runChildren(looked, "progress", [
    ["patient", [{ name: LONG, input: { duration: 2, steps: 4 } }]],
  ]);
  const steps = ended.lines.filter(({ type }) => type === "tool-progress");
  const isCounted = steps.length > 1 && steps.every(({ total, path }) => total === 4 && path?.includes("patient"));
  look.at(`everything ${way}: progress of a call is shown (${steps.length} lines)`, isCounted, [steps, ended.stderr]);
  const result = resultOf(ended, LONG);
  look.at(`everything ${way}: and the call is answered`, result?.output?.includes("completed") === true, result);
}

/** The time of a child is over in the middle of its call: the server is told, and serves the next child. */
async function cancel(looked: Looked): Promise<void> {
  const { look, home, way } = looked;
  const ended = await runChildren(looked, "cancel", [
    ["hasty", [{ name: LONG, input: { duration: 60, steps: 60 } }]],
    ["reader", [{ name: ECHO, input: { message: "still here" } }]],
  ]);
  const hasty = ended.lines.find(({ type, path }) => type === "run-end" && path?.includes("hasty"));
  look.at(`everything ${way}: a call ends with the time of its child`, JSON.stringify(hasty).includes("timeout"), [
    hasty,
    ended.stderr,
  ]);
  const echo = resultOf(ended, ECHO);
  look.at(`everything ${way}: the server serves the next child`, echo?.output?.includes("still here") === true, echo);
  if (way === "http") return;
  const heard = readFileSync(heardFile(home), "utf8");
  look.at(
    `everything ${way}: the server is told of the cancel`,
    heard.includes('"notifications/cancelled"'),
    heard.slice(-800),
  );
  // Every run has started the server once: one handshake each, also for two children.
  const handshakes = heard.split('"initialize"').length - 1;
  look.at(`everything ${way}: one server for both children`, handshakes === 4, handshakes);
}

/** Variables that every program of ours gets; what the shell and `node` add by themselves stands behind. */
const HARMLESS =
  /^(?:HOME|PATH|SHELL|SHLVL|USER|LOGNAME|TERM|TZ|TMPDIR|LANG|LANGUAGE|LC_\w+|PWD|OLDPWD|_|SOUS_RUN|SOUS_WITHIN|GIT_\w+|PAGER|TRACEPARENT)$/;

async function environment(looked: Looked): Promise<void> {
  const { look, way } = looked;
  const ended = await runChildren(looked, "environment", [["nosy", [{ name: ENVIRONMENT, input: {} }]]], SECRETS);
  const output = resultOf(ended, ENVIRONMENT)?.output ?? "";
  const names = [...output.matchAll(/^\s*"(\w+)":/gm)].map(([, name = ""]) => name);
  const isClean = names.length > 3 && names.every((name) => name === GIVEN || HARMLESS.test(name));
  look.at(`everything ${way}: get-env shows allowed variables only`, isClean && names.includes(GIVEN), [
    names,
    ended.stderr,
  ]);
  const leaked = Object.entries(SECRETS).filter(([name, value]) => names.includes(name) || output.includes(value));
  look.at(`everything ${way}: and none of ${Object.keys(SECRETS).length} secrets`, leaked.length === 0, leaked);
}

async function interrupt(looked: Looked): Promise<void> {
  const { look, home, way } = looked;
  let isSent = false;
  const calls = [{ name: LONG, input: { duration: 60, steps: 240 } }];
  const ended = await runChildren(looked, "interrupt", [["patient", calls]], {}, (type, kill) => {
    if (isSent || type !== "tool-progress") return;
    isSent = true;
    kill();
  });
  look.at(`everything ${way}: an interrupt ends the run`, isSent && ended.code === 130, [ended.code, ended.stderr]);
  const { left } = await home.judge.untilGone(MAY_TAKE_MS);
  look.at(`everything ${way}: and leaves no process`, left.length === 0, left);
}

type Child = readonly [agent: string, calls: ToolCall[]];

/** A run whose root starts these children one after another; each makes its calls and says "Done.". */
async function runChildren(
  { mock, home, way }: Looked,
  name: string,
  children: readonly Child[],
  env: Record<string, string> = {},
  onLine: (type: string, kill: () => void) => void = () => {},
): Promise<Ended> {
  for (const [agent, calls] of children) mock.script(taskOf(way, name, agent), [() => calls, "Done."]);
  const turns: Turn[] = children.map(([agent]) => () => [
    { name: "subagent", input: { agent, label: agent, task_prompt: taskOf(way, name, agent) } },
  ]);
  mock.script(rootTask(way, name), [...turns, "All done."]);
  return runSous(home, [rootTask(way, name)], ({ type }, child) => onLine(type, () => child.kill("SIGINT")), env);
}

function rootTask(way: Way, name: string): string {
  return `everything over ${way}, ${name}.`;
}

function taskOf(way: Way, name: string, agent: string): string {
  return `${agent} over ${way}, ${name}.`;
}

function heardFile(home: Home): string {
  return join(home.folder, "heard.txt");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listens) => server.once("listening", listens));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
