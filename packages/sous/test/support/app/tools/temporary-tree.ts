/** A folder of files for one test, and the context a tool sees in it. */

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readOnlyTools } from "../../../../src/app/tools/read-only.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { Tool, ToolContext, ToolResult } from "../../../../src/core/tool.ts";

export type TemporaryTree = AsyncDisposable & { path: string };

/** Files by name; a name that ends in `/` is an empty folder. */
export async function temporaryTree(files: Record<string, string | Uint8Array> = {}): Promise<TemporaryTree> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "sous-tools-")));
  for (const [name, content] of Object.entries(files)) {
    const file = join(path, name);
    await mkdir(name.endsWith("/") ? file : dirname(file), { recursive: true });
    if (!name.endsWith("/")) await writeFile(file, content);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

export function contextIn(cwd: string, signal: AbortSignal = new AbortController().signal): ToolContext {
  return {
    signal,
    callId: "call-1",
    cwd,
    agentId: "agent",
    ancestorIds: [],
    defer: () => {},
    progress: () => {},
    trace: undefined,
    runId: "run-1",
    path: "lead",
    depth: 0,
    maxDepth: 3,
    rulesOn: () => undefined,
    spawn: () => Promise.reject(new Error("these tools have no children")),
    children: {
      list: () => [],
      send: () => Promise.reject(new Error("no children")),
      wait: () => Promise.resolve([]),
      cancel: () => Promise.resolve(undefined),
      report: () => Promise.resolve(undefined),
    },
  };
}

/** Calls a read-only tool by its name, as a run in `cwd` would. */
export async function call(
  name: string,
  input: Record<string, unknown>,
  cwd: string,
  signal?: AbortSignal,
): Promise<ToolResult> {
  return (await toolNamed(name).execute(input, contextIn(cwd, signal))) as ToolResult;
}

/** The answer as the model reads it: the output, or the message of the failure. */
export async function answer(name: string, input: Record<string, unknown>, cwd: string): Promise<string> {
  return call(name, input, cwd).then(
    ({ output }) => output,
    (error: unknown) => {
      if (error instanceof ToolFailure) return `failed: ${error.message}`;
      throw error;
    },
  );
}

export function toolNamed(name: string): Tool {
  const found = readOnlyTools().find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no tool ${name}`);
  return found;
}
