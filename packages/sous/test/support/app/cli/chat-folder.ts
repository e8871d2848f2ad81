/** A folder to chat in, with a scripted model and a home of its own. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Folder = AsyncDisposable & {
  cwd: string;
  env: Record<string, string>;
  write(name: string, content: object): Promise<void>;
};

/** A folder with a scripted model in it, and a home of its own. */
export async function folder(script: object = {}): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "sous-chat-"));
  const cwd = join(path, "project");
  await mkdir(cwd);
  const write = (name: string, content: object): Promise<void> => writeFile(join(cwd, name), JSON.stringify(content));
  await write("script.json", script);
  await writeFile(join(cwd, "pay.ts"), "export const retries = 3;\n");
  const env = {
    HOME: path,
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    XDG_DATA_HOME: join(path, "data"),
    XDG_STATE_HOME: join(path, "state"),
    XDG_CONFIG_HOME: join(path, "config"),
  };
  return { cwd, env, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

export const MODEL = ["--model", "script/script.json"];
export const USED = { usage: { input: 100, output: 20 } };
export const child = (label: string, task_prompt: string, more: object = {}): object => ({
  tool: "subagent",
  input: { label, task_prompt, ...more },
});
