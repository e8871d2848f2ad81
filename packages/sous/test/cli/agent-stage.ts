/** A project, a user with a configuration, and a model that follows a script: what `sous run` does, in this process. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { giveTrust, reviewTrust } from "../../src/cli/assemble-agents.ts";
import { openApplication } from "../../src/cli/assemble-application.ts";
import { readOptions } from "../../src/cli/options.ts";
import { RUN_OPTIONS, readRunFlags } from "../../src/cli/run-flags.ts";
import type { EventOf, SousEvent } from "../../src/core/event.ts";
import { RunError, type RunResult } from "../../src/core/runtime.ts";
import { temporaryTree } from "../tools/temporary-tree.ts";
import { type Ended, sous } from "./sous-process.ts";

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
  /** The same command as a process. */
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
    command: (...parameters) => sous(parameters, { cwd: root, env }),
    trust: async () => giveTrust(root, (await reviewTrust(root)).snapshot, { env }),
    async run(script, ...options) {
      const file = join(tree.path, "answers.json");
      await writeFile(file, JSON.stringify(script));
      const given = ["--model", `script/${file}`, "--db-path", database, ...options];
      const { values } = readOptions("sous run", given, RUN_OPTIONS);
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
      const result = await runtime
        .run(agent, "Go.", { ...runOptions, onEvent })
        .catch((error: unknown) => (error instanceof RunError ? error.result : Promise.reject(error)));
      const of = <Type extends SousEvent["type"]>(type: Type) =>
        events.filter((event): event is EventOf<Type> => event.type === type);
      return {
        result: await result,
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
