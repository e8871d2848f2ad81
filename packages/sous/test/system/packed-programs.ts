/** Programs that run the packed package, as if by hand. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

export type Output = { stdout: string; stderr: string };

export type StartOptions = { node?: string; extra?: Record<string, string>; timeout?: number };

/** Runs a command as if by hand: with one Node first on the path, and nothing left of the test runner or of npm. */
export async function start(
  file: string,
  parameters: string[],
  cwd: string,
  options: StartOptions = {},
): Promise<Output> {
  const { node = process.execPath, extra = {}, timeout } = options;
  const isOurs = (name: string): boolean =>
    /^(npm_(package|lifecycle|command|execpath|node)|NODE_(?!COMPILE_CACHE)|INIT_CWD)/.test(name);
  const inherited = Object.entries(process.env).filter(([name]) => !isOurs(name) && name !== "npm_config_local_prefix");
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const env = { ...Object.fromEntries(inherited), PATH, ...extra };
  try {
    const running = promisify(execFile)(file, parameters, {
      cwd,
      env,
      timeout,
      killSignal: "SIGKILL",
      encoding: "utf8",
    });
    running.child.stdin?.end();
    return await running;
  } catch (error) {
    const { stdout = "", stderr = "", killed = false } = error as Partial<Output & { killed: boolean }>;
    const how = killed ? `did not end within ${timeout} ms` : "failed";
    throw new Error(`${file} ${parameters.join(" ")} ${how}:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Every global, and what each of them has: `Promise`, `Promise.try`. */
export async function namesOfLanguage(node: string): Promise<string[]> {
  const program = `
    const own = (value) => Object.getOwnPropertyNames(Object(value));
    const names = own(globalThis).filter((name) => !["globalThis", "global", "process"].includes(name));
    console.log(JSON.stringify(names.flatMap((name) => [name, ...own(globalThis[name]).map((each) => name + "." + each)])));`;
  const { stdout } = await start(node, ["--no-warnings", "-e", program], tmpdir(), { node });
  return JSON.parse(stdout);
}

/** A project whose `.mcp.json` names `sous mcp serve`, and a user whose agent is `sous acp serve`: both are called in one run. */
export async function speaksWithItself(sous: string, home: string, options: StartOptions = {}): Promise<Output> {
  const { node = process.execPath, extra = {} } = options;
  const project = join(home, "project");
  const command = join(sous, "dist/app/cli/main.js");
  for (const folder of [project, join(home, ".config/sous")]) mkdirSync(folder, { recursive: true });
  const script = (name: string, turns: object[]): string => {
    writeFileSync(join(home, name), JSON.stringify({ sous: turns }));
    return `script/${join(home, name)}`;
  };
  const inner = script("inner.json", [{ text: "Inner words." }]);
  const program = (protocol: string) => ({ command: node, args: [command, protocol, "serve", "--model", inner] });
  writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { inner: program("mcp") } }));
  writeFileSync(join(home, ".config/sous/config.yaml"), JSON.stringify({ agent_servers: { inner: program("acp") } }));
  const outer = script("outer.json", [
    { calls: [{ tool: "mcp__inner__sous", input: { task: "Say it." } }] },
    { calls: [{ tool: "subagent_delegate", input: { task: "Say it.", description: "d", serverName: "inner" } }] },
    { text: "Done." },
  ]);
  const type = (...words: string[]): Promise<Output> =>
    start(node, [command, ...words], project, { node, extra: { HOME: home, ...extra } });
  await type("trust", "--yes");
  const rules = ["--allow", "mcp__inner__sous", "--allow", "subagent_delegate"];
  const ended = await type("run", "Go.", "--model", outer, ...rules, "--output-format", "stream-json");
  const outputs = ended.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .flatMap((event) => (event.type === "tool-call-end" ? [event.output.split("\n", 1)[0]] : []));
  assert.deepEqual(outputs, ["Inner words.", "Inner words."], ended.stdout);
  return ended;
}
