/** The place where a hostile text is read: a folder, a home, a provider and a model, all of its own. */

import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sous } from "../support/app/cli/sous-process.ts";

/** A page is fetched in a process of ours, since the command reaches no server of this machine. */
export type HostileText =
  | { readonly name: string; readonly kind: "command"; prepare(place: Place): Promise<readonly string[]> }
  | { readonly name: string; readonly kind: "page"; text(): string };

export type Place = AsyncDisposable & {
  /** The working directory of the command. */
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Files by their names below the working directory. */
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** The parameters of a run whose model says this. */
  script(answers: object): Promise<string[]>;
  /** Every request to the provider gets this answer, with status 400. */
  answerRequests(body: string): Promise<void>;
  command(parameters: readonly string[]): Promise<void>;
};

export async function openPlace(): Promise<Place> {
  const top = await mkdtemp(join(tmpdir(), "sous-texts-"));
  const cwd = join(top, "work");
  await mkdir(join(cwd, ".git"), { recursive: true });
  const env: Record<string, string> = {
    PATH: "/usr/bin:/bin",
    HOME: join(top, "home"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    ANTHROPIC_API_KEY: "sk-ant-made-up-for-a-test",
  };
  let provider: Server | undefined;
  return {
    cwd,
    env,
    async write(files) {
      for (const [name, content] of Object.entries(files)) {
        const file = join(cwd, name);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
      }
    },
    async script(answers) {
      await writeFile(join(top, "answers.json"), JSON.stringify(Array.isArray(answers) ? { "**": answers } : answers));
      return ["run", "Go", "--model", `script/${join(top, "answers.json")}`, "--ephemeral"];
    },
    async answerRequests(body) {
      provider = createServer((request, response) => {
        request.resume();
        response.writeHead(400, { "content-type": "application/json" }).end(body);
      });
      provider.listen(0, "127.0.0.1");
      await once(provider, "listening");
      env.ANTHROPIC_BASE_URL = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    },
    async command(parameters) {
      const { code, stderr } = await sous(parameters, { cwd, env });
      if (code !== 0) throw new Error(`sous ${parameters.join(" ")} ended with ${code}: ${stderr}`);
    },
    async [Symbol.asyncDispose]() {
      provider?.closeAllConnections();
      provider?.close();
      await rm(top, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A run that calls one tool again and again, so that it is in it whenever it should stop. */
export function toolCalls(place: Place, tool: string, input: object): Promise<string[]> {
  const again = { calls: [{ tool, input }] };
  return place.script([...Array.from({ length: 40 }, () => again), { text: "Done." }]);
}
