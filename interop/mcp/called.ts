/**
 * Claude Code, gemini-cli, opencode and codex call an agent of ours: their model is told to, `sous mcp serve` runs a tree of two
 * agents, and the program answers with the report. A program that is killed leaves nothing behind.
 */

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { asOtherUser } from "../external/agents.ts";
import type { Look } from "../external/look.ts";
import { type Mock, WORDS } from "../external/mock.ts";
import { CALLERS, type Caller, configure } from "./callers.ts";
import { startCodexProvider } from "./codex-provider.ts";
import { type Home, makeHome, SOUS } from "./home.ts";
import { scriptTree } from "./script-tree.ts";

type Looked = { mock: Mock; look: Look; home: Home; name: string; caller: Caller };

const LONGEST_MS = 120_000;
const MAY_TAKE_MS = 5_000;

export async function lookAtCallers(mock: Mock, look: Look): Promise<void> {
  await using codex = await startCodexProvider(mock.url);
  for (const [name, make] of Object.entries(CALLERS)) {
    using home = makeHome(mock.url);
    const ownHome = join(home.folder, "home");
    const caller = make({ url: mock.url, codexUrl: codex.url, home: ownHome });
    mkdirSync(ownHome);
    chmodSync(home.folder, 0o755);
    configure(caller, home.folder);
    home.configure({ permissions: [{ allow: "terminal" }] });
    home.agent("lead", { description: "Leads.", delegate: true });
    home.agent("scout", { description: "Scouts." });
    const looked: Looked = { mock, look, home, name, caller };
    await look.during(`${name} calls an agent`, () => answered(looked));
    await look.during(`${name} is killed`, () => killed(looked));
  }
}

async function answered(looked: Looked): Promise<void> {
  const { look, home, mock, name } = looked;
  writeSous(home, (command) => `tee -a ${heard(home)} | ${command} | tee -a ${said(home)}`);
  const task = scriptTree(mock, `${name} answered`, "sleep 2");
  const { ended } = start(looked, task);
  const output = await ended;
  const { clientInfo, protocolVersion } = handshakeIn(read(heard(home)));
  const title = `${clientInfo?.name} ${clientInfo?.version} (MCP ${protocolVersion})`;
  const isAnswered = output.includes("It answered: ") && output.includes("The lead is done.");
  look.at(`${name}: ${title} calls an agent of ours, and answers with its report`, isAnswered, output.slice(-2000));
  const steps = read(said(home))
    .split("\n")
    .filter((line) => line.includes('"notifications/progress"'));
  look.at(`${name}: it is sent progress (${steps.length} notices)`, steps.length > 1, read(heard(home)).slice(-1000));
  const { left } = await home.judge.untilGone(MAY_TAKE_MS);
  look.at(`${name}: no process is left`, left.length === 0, left);
}

/** The program that has started the server is killed, which may be a child of the one we started. */
async function killed(looked: Looked): Promise<void> {
  const { look, home, mock, name } = looked;
  const [ready, starter] = [join(home.cwd, "ready"), join(home.folder, "starter")];
  rmSync(ready, { force: true });
  writeSous(home, (command) => `echo $PPID > ${starter}\nexec ${command}`);
  const task = scriptTree(mock, `${name} killed`, "touch ready; trap '' TERM INT HUP; sleep 300; true");
  const { child, ended } = start(looked, task);
  const startedAt = performance.now();
  while (!existsSync(ready) && performance.now() - startedAt < LONGEST_MS / 3) await wait(20);
  const there = home.judge.look();
  child.kill("SIGKILL");
  kill(Number(read(starter)));
  const output = await ended;
  const { left, milliseconds } = await home.judge.untilGone(MAY_TAKE_MS);
  const isEnded = existsSync(ready) && left.length === 0;
  look.at(`${name}: kill -9 ends all ${there} processes (${Math.round(milliseconds)} ms)`, isEnded, [left, output]);
}

/** It may be the one that was killed already. */
function kill(pid: number): void {
  try {
    if (pid > 1) process.kill(pid, "SIGKILL");
  } catch {}
}

/** Programs hand few variables on, so `sous` sets its own. */
function writeSous(home: Home, line: (command: string) => string): void {
  const file = join(home.folder, "bin/sous");
  mkdirSync(join(home.folder, "bin"), { recursive: true });
  const exports = Object.entries(home.env).map(([name, value]) => `export ${name}='${value}'`);
  const text = ["#!/bin/sh", ...exports, line(`${SOUS.join(" ")} "$@"`), ""].join("\n");
  writeFileSync(file, text, { mode: 0o755 });
}

function start({ home, caller }: Looked, task: string) {
  const { PATH = "" } = home.env;
  const [program = "", ...words] = [...asOtherUser(home.folder), ...caller.argv, `${WORDS.call} lead [${task}]`];
  const child = spawn(program, words, {
    cwd: home.cwd,
    env: {
      PATH: `${join(home.folder, "bin")}:${PATH}`,
      HOME: join(home.folder, "home"),
      ...caller.env,
      ...home.judge.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // The judge counts the whole group.
    detached: true,
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  return { child, ended: new Promise<string>((resolve) => child.on("close", () => resolve(output))) };
}

type Handshake = { protocolVersion?: string; clientInfo?: { name?: string; version?: string } };

function handshakeIn(lines: string): Handshake {
  const line = lines.split("\n").find((each) => each.includes('"initialize"')) ?? "{}";
  return (JSON.parse(line) as { params?: Handshake }).params ?? {};
}

/** What the server hears and says. */
function heard({ folder }: Home): string {
  return join(folder, "heard.txt");
}
function said({ folder }: Home): string {
  return join(folder, "said.txt");
}

function read(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
