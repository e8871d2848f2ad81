/** The command after `npm install --global`, alone: MCP and ACP need no other package. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Look } from "../external/look.ts";
import { npm, Project, warningsOf } from "./project.ts";

const LONGEST_MS = 30_000;

export async function lookAtCommand(look: Look, tarball: string): Promise<void> {
  using project = new Project();
  const prefix = join(project.alone, "global");
  mkdirSync(prefix);
  const usual = warningsOf(await npm(["prefix", "--global"], project.alone));
  const ended = await npm(["install", "--global", "--prefix", prefix, tarball], project.alone);
  const own = warningsOf(ended).filter((line) => !usual.includes(line));
  const command = join(prefix, "bin/sous");
  look.at("install --global: npm warns of nothing", own.length === 0 && existsSync(command), ended);
  await look.during("install --global: .mcp.json", () => lookAtMcpFile(look, project, command));
  await look.during("install --global: serve", () => lookAtServe(look, project, command));
}

/** A project's file of servers, after `sous trust`, and a rule of the user for the tool. */
async function lookAtMcpFile(look: Look, project: Project, command: string): Promise<void> {
  project.take("mcp-server.mjs");
  project.write(
    ".mcp.json",
    JSON.stringify({ mcpServers: { toy: { command: process.execPath, args: ["mcp-server.mjs"] } } }),
  );
  const calls = [{ tool: "mcp__toy__look", input: {} }];
  project.write("script.json", JSON.stringify({ sous: [{ calls }, { text: "Done." }] }));
  const settings = join(project.home, ".config/sous");
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, "config.yaml"), JSON.stringify({ permissions: [{ allow: "mcp__toy__look" }] }));
  const trusted = await project.node(command, ["trust", "--yes"]);
  const run = ["run", "Go.", "--model", "script/script.json", "--output-format", "stream-json"];
  const { output } = await project.node(command, run);
  const isCalled = output.includes('"A toy.') && !output.includes('"is_error":true');
  look.at("install --global: an agent calls a tool of .mcp.json", isCalled, [trusted, output]);
}

async function lookAtServe(look: Look, project: Project, command: string): Promise<void> {
  const agents = join(project.home, ".config/sous/agents");
  mkdirSync(agents, { recursive: true });
  writeFileSync(join(agents, "scout.md"), "---\nname: scout\ndescription: Scouts.\n---\nLook around.\n");
  const info = { name: "interop", version: "1" };
  const acp = await converse(
    project,
    [command, "acp", "serve"],
    [{ id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {}, clientInfo: info } }],
  );
  look.at("install --global: sous acp serve answers initialize", acp[0]?.result?.protocolVersion === 1, acp);
  const mcp = await converse(
    project,
    [command, "mcp", "serve", "--agents", "scout", "--model", "script/script.json"],
    [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
    ],
  );
  const names = mcp.find(({ id }) => id === 2)?.result?.tools?.map(({ name }) => name);
  look.at("install --global: sous mcp serve lists its agents as tools", names?.join() === "scout", mcp);
}

type Request = { readonly id?: number; readonly method: string; readonly params?: object };
type Response = { id?: number; result?: { protocolVersion?: unknown; tools?: { name: string }[] }; error?: unknown };

/** Sends messages of JSON-RPC, a line each; all answers, up to that of the last request. */
async function converse(project: Project, words: readonly string[], requests: readonly Request[]): Promise<Response[]> {
  const child = spawn(process.execPath, words, {
    cwd: project.folder,
    env: project.environment(),
    stdio: ["pipe", "pipe", "ignore"],
    timeout: LONGEST_MS,
  });
  for (const request of requests) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`);
  const answers: Response[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as Response;
    answers.push(answer);
    if (answer.id === requests.at(-1)?.id) child.stdin.end();
  }
  return answers;
}
