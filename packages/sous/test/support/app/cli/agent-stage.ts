/** A project, a user with a configuration, and a model that follows a script: what `sous run` does, in this process. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openApplication } from "../../../../src/app/cli/application/open.ts";
import { userFolder } from "../../../../src/app/cli/files/paths.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { trust as giveTrust } from "../../../../src/app/config/trust/trust.ts";
import type { EventOf, SousEvent } from "../../../../src/core/event.ts";
import type { RunResult } from "../../../../src/core/runtime.ts";
import { temporaryTree } from "../tools/temporary-tree.ts";
import { inProcess } from "./in-process.ts";
import type { Ended } from "./sous-process.ts";

export type Ran = {
  result: RunResult;
  starts: EventOf<"run-start">[];
  /** What tools answered, in order. */
  results: { path: string; output: string }[];
  refused: EventOf<"spawn-refused">[];
  warnings: string[];
};

export type AgentStage = AsyncDisposable & {
  path: string;
  /** The project. */
  root: string;
  env: Record<string, string>;
  trust(): Promise<void>;
  /** Opens what `sous run` would, with these options, and runs it on the script. */
  run(script: object, ...options: string[]): Promise<Ran>;
  /** Another command with the same folders and variables. */
  command(...parameters: string[]): Promise<Ended>;
};

export async function agentStage(files: Record<string, string> = {}): Promise<AgentStage> {
  const tree = await temporaryTree({ "project/.git/HEAD": "", "project/a.txt": "alpha\n", ...files });
  const root = join(tree.path, "project");
  const env = {
    HOME: tree.path,
    PATH: process.env.PATH ?? "",
    XDG_CONFIG_HOME: join(tree.path, "config"),
    XDG_STATE_HOME: join(tree.path, "state"),
    XDG_DATA_HOME: join(tree.path, "data"),
    TZ: "UTC",
  };
  const database = join(tree.path, "data/sous/sous.db");
  return {
    ...tree,
    root,
    env,
    command: (...parameters) => inProcess(parameters, { cwd: root, env }),
    trust: async () =>
      giveTrust(root, await readProject(root), { stateFolder: userFolder("state", env), at: new Date() }),
    async run(script, ...options) {
      const file = join(tree.path, "answers.json");
      await writeFile(file, JSON.stringify(script));
      const given = ["--model", `script/${file}`, "--db-path", database, ...options];
      const { values } = readOptions(RUN, given);
      const warnings: string[] = [];
      await using application = await openApplication({
        flags: readRunFlags(values),
        cwd: root,
        env,
        ask: undefined,
        warn: (line) => void warnings.push(line),
      });
      const events: SousEvent[] = [];
      const onEvent = (event: SousEvent) => void events.push(event);
      const { runtime, agent, runOptions } = application;
      const result = await runtime.run(agent, "Go.", { ...runOptions, onEvent }).result;
      const of = <Type extends SousEvent["type"]>(type: Type) =>
        events.filter((event): event is EventOf<Type> => event.type === type);
      return {
        result,
        starts: of("run-start"),
        results: of("tool-call-end").map(({ path, output }) => ({ path, output })),
        refused: of("spawn-refused"),
        warnings,
      };
    },
  };
}

export const agentFile = (name: string, keys = "tools: [list_files]"): string =>
  `---\nname: ${name}\ndescription: Finds things. Use it for any search.\n${keys}\n---\nYou find.\n`;

export const calls = (tool: string, input: object): object => ({ calls: [{ tool, input }] });

export const DONE: readonly object[] = [{ text: "Done." }];
