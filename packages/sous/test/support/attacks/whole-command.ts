/** The whole command in this process: real configuration, trust, files, rules, tools and database; only the model is a script. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { findTrust } from "../../../src/app/cli/application/project.ts";
import { ChatConversation } from "../../../src/app/cli/chat/conversation.ts";
import { userFolder } from "../../../src/app/cli/files/paths.ts";
import type { OptionValues } from "../../../src/app/cli/table/options.ts";
import type { RUN } from "../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { readProject } from "../../../src/app/config/trust/files.ts";
import { trust as giveTrust } from "../../../src/app/config/trust/trust.ts";
import type { Approve } from "../../../src/core/approval.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import type { RunResult } from "../../../src/core/runtime.ts";
import { temporaryTree } from "../app/tools/temporary-tree.ts";

export type Flags = Partial<OptionValues<typeof RUN>>;

export type Ran = { result: RunResult; events: SousEvent[]; warnings: string[]; agents: string[]; prompts: string };

export type Command = AsyncDisposable & {
  /** Of everything; the repository is `repository` in it. */
  readonly path: string;
  readonly root: string;
  readonly env: Record<string, string | undefined>;
  write(name: string, content: string): void;
  trust(root?: string): Promise<void>;
  state(cwd?: string): Promise<string>;
  /** One task for the root, or for the agent that `@` names, as in a chat. */
  run(
    script: object,
    flags?: Flags,
    given?: { cwd?: string; env?: Record<string, string | undefined>; at?: string; ask?: Approve },
  ): Promise<Ran>;
};

/** Nothing is kept unless a flag says where. */
export async function openCommand(files: Record<string, string> = {}): Promise<Command> {
  const tree = await temporaryTree({ "repository/.git/HEAD": "", "home/": "", ...files });
  const root = join(tree.path, "repository");
  const home = join(tree.path, "home");
  const env: Record<string, string | undefined> = { HOME: home, PATH: "/usr/bin:/bin" };
  const write = (name: string, content: string): void => {
    mkdirSync(dirname(join(tree.path, name)), { recursive: true });
    writeFileSync(join(tree.path, name), content);
  };
  return {
    ...tree,
    root,
    env,
    write,
    async trust(folder = root) {
      const snapshot = await readProject(folder);
      await giveTrust(folder, snapshot, { stateFolder: userFolder("state", env), at: new Date() });
    },
    state: async (cwd = root) => (await findTrust({ cwd, env })).state,
    async run(script, flags = {}, { cwd = root, env: more = {}, at, ask } = {}) {
      write("answers.json", JSON.stringify(script));
      const model = `script/${join(tree.path, "answers.json")}`;
      const keep = flags["db-path"] === undefined ? { ephemeral: true } : {};
      const warnings: string[] = [];
      const events: SousEvent[] = [];
      await using application = await openApplication({
        flags: readRunFlags({ model, ...keep, ...flags }),
        cwd,
        // Not copied: a variable may do something when it is looked at.
        env: Object.defineProperties({ ...env }, Object.getOwnPropertyDescriptors(more)),
        ask,
        warn: (line) => void warnings.push(line),
      });
      const conversation = new ChatConversation(application, { onEvent: (event) => void events.push(event) });
      const named = application.agents.find(({ name }) => name === at);
      const result = await (named === undefined ? conversation.say("Go.") : conversation.address(named, "Go."));
      const { agents } = application;
      const prompts = agents.map(({ description, instructions }) => `${description}\n${instructions}`).join("\n");
      return { result, events, warnings, agents: agents.map(({ name }) => name), prompts };
    },
    [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
  };
}

/** An answer that makes calls. */
export function calling(...calls: (readonly [tool: string, input: object])[]): object {
  return { calls: calls.map(([tool, input]) => ({ tool, input })) };
}

export function saying(text: string): object {
  return { text };
}
