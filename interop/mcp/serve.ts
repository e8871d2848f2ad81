/** The Inspector and a client of the SDK call `sous mcp serve`: a tree of two agents answers, and a killed client leaves nothing. */

import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import type { Look } from "../external/look.ts";
import type { Mock } from "../external/mock.ts";
import { peerFile } from "../external/peers.ts";
import { type Home, makeHome, SOUS } from "./home.ts";
import { scriptTree } from "./script-tree.ts";
import type { Called, Heard } from "./serve-client.ts";

type Looked = { mock: Mock; look: Look; home: Home; command: string };
type Listed = { tools?: { name: string; inputSchema?: object; outputSchema?: object }[] };

const INSPECTOR = peerFile("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const CLIENT = join(import.meta.dirname, "serve-client.ts");
const LONGEST_MS = 90_000;
const MAY_TAKE_MS = 5_000;

export async function lookAtMcpServe(mock: Mock, look: Look): Promise<void> {
  using home = makeHome(mock.url);
  home.configure({ permissions: [{ allow: "terminal" }] });
  home.agent("lead", { description: "Leads.", delegate: true });
  home.agent("scout", { description: "Scouts." });
  const looked: Looked = { mock, look, home, command: serveScript(home) };
  await look.during("Inspector: list", () => list(looked));
  await look.during("Inspector: call", () => call(looked));
  await look.during("mcp serve: progress", () => progress(looked));
  await look.during("mcp serve: killed client", () => killedClient(looked));
}

async function list(looked: Looked): Promise<void> {
  const { look } = looked;
  const { value, output } = await inspect<Listed>(looked, "--method", "tools/list");
  const names = (value?.tools ?? []).map(({ name }) => name);
  look.at("Inspector: lists the agents of sous mcp serve", names.sort().join() === "lead,scout", output);
  const hasSchemas = value?.tools?.every(
    ({ inputSchema, outputSchema }) => JSON.stringify(inputSchema).includes('"task"') && outputSchema !== undefined,
  );
  look.at("Inspector: each takes a task and has an output schema", hasSchemas === true, value);
}

async function call(looked: Looked): Promise<void> {
  const { look } = looked;
  const task = scriptTree(looked.mock, "inspected", "true");
  const given = ["--method", "tools/call", "--tool-name", "lead", "--tool-arg", `task=${task}`];
  const { value, output } = await inspect<Called>(looked, ...given);
  look.at("Inspector: a tree of two agents answers", isAnswered(value), output);
}

async function progress(looked: Looked): Promise<void> {
  const { look } = looked;
  const task = scriptTree(looked.mock, "watched", "sleep 2");
  const heard: Heard[] = [];
  await clientOf(looked, task, (each) => void heard.push(each)).ended;
  const steps = heard.flatMap((each) => ("progress" in each ? [each.progress] : []));
  const isRising = steps.every(({ progress }, index) => progress > (steps[index - 1]?.progress ?? -1));
  look.at(`mcp serve: progress rises (${steps.length} notices)`, steps.length > 1 && isRising, steps);
  const isChild = steps.some(({ message = "" }) => message.includes("scout"));
  look.at("mcp serve: progress names the child at work", isChild, steps);
  const result = heard.flatMap((each) => ("result" in each ? [each.result] : []))[0];
  look.at("mcp serve: the client of the SDK gets report and metadata", isAnswered(result), heard.at(-1));
}

async function killedClient(looked: Looked): Promise<void> {
  const { look, home } = looked;
  const ready = join(home.cwd, "ready");
  const task = scriptTree(looked.mock, "killed", "touch ready; trap '' TERM INT HUP; sleep 300; true");
  const { child, ended } = clientOf(looked, task);
  const startedAt = performance.now();
  while (!existsSync(ready) && performance.now() - startedAt < LONGEST_MS / 3) await wait(20);
  const there = home.judge.look();
  child.kill("SIGKILL");
  await ended;
  const { left, milliseconds } = await home.judge.untilGone(MAY_TAKE_MS);
  const isEnded = existsSync(ready) && there > 2 && left.length === 0;
  look.at(`mcp serve: kill -9 of its client ends all ${there} processes (${Math.round(milliseconds)} ms)`, isEnded, [
    existsSync(ready),
    left,
  ]);
}

function isAnswered(called: Called | undefined): boolean {
  const isReport = JSON.stringify(called?.content ?? "").includes("The lead is done.");
  return isReport && called?.isError !== true && called?.structuredContent?.status === "completed";
}

/** The Inspector hands few variables on, so the command sets its own. */
function serveScript(home: Home): string {
  const file = join(home.folder, "serve.sh");
  const exports = Object.entries(home.env).map(([name, value]) => `export ${name}='${value}'`);
  const last = `exec ${SOUS.join(" ")} mcp serve --agents lead,scout`;
  writeFileSync(file, ["#!/bin/sh", ...exports, `cd '${home.cwd}'`, last, ""].join("\n"), { mode: 0o755 });
  return file;
}

async function inspect<Value>(
  { home, command }: Looked,
  ...parameters: string[]
): Promise<{ value: Value | undefined; output: string }> {
  const child = spawn(process.execPath, [INSPECTOR, "--cli", command, ...parameters], {
    cwd: home.cwd,
    env: { PATH: home.env.PATH ?? "", HOME: home.folder },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  await new Promise((resolve) => child.on("close", resolve));
  try {
    return { value: JSON.parse(output) as Value, output };
  } catch {
    return { value: undefined, output: `${output}${errors}` };
  }
}

function clientOf({ home, command }: Looked, task: string, onHeard: (heard: Heard) => void = () => {}) {
  const child = spawn(process.execPath, [CLIENT, command, "lead", task], {
    cwd: home.cwd,
    env: { ...home.env },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
    timeout: LONGEST_MS,
  });
  createInterface({ input: child.stdout }).on("line", (line) => onHeard(JSON.parse(line) as Heard));
  return { child, ended: new Promise((resolve) => child.on("close", resolve)) };
}
