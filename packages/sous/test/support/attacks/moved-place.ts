/** A folder and a store in which the built-in tools run with a person who answers, also in a later process. */

import { appendFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { editFileTool, writeFileTool } from "../../../src/app/tools/edit-file.ts";
import { agent } from "../../../src/core/agent.ts";
import type { ApprovalPolicy, ApprovalRequest, Approve } from "../../../src/core/approval.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { RunResult } from "../../../src/core/runtime.ts";
import type { Store } from "../../../src/core/store.ts";
import { type Tool, tool } from "../../../src/core/tool.ts";
import { systemHost } from "../../../src/machine/host.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { temporaryTree } from "../app/tools/temporary-tree.ts";
import { makeFiles } from "./moved-targets.ts";

export type PlaceOptions = {
  readonly files: Readonly<Record<string, string>>;
  /** The calls of the one answer that makes any: `c1`, `c2` and so on. */
  readonly calls: readonly (readonly [toolName: string, input: Readonly<Record<string, unknown>>])[];
  /** The file that a command writes. */
  readonly writes?: string | undefined;
  /** Stand in the place of tools of the same name. */
  readonly tools?: readonly Tool[];
  readonly make?: typeof createRuntime;
};

export type Place = AsyncDisposable & {
  readonly root: string;
  path(name: string): string;
  /** Done before the next event of this type is stored, which then takes a moment. */
  beforeStored(type: StoredEvent["type"], act: () => void): void;
  process(approve: Approve | ApprovalPolicy, cwd?: string): Process;
  /** The results of the calls that have ended: true for a failure. */
  failures(): Promise<boolean[]>;
};

export type Process = {
  run(): Promise<RunResult>;
  /** Says yes to these questions. */
  resume(id: string, ...keys: string[]): Promise<RunResult>;
};

export async function openPlace({ files, calls: made, writes = "none", ...options }: PlaceOptions): Promise<Place> {
  const { tools = [], make = createRuntime } = options;
  const tree = await temporaryTree();
  makeFiles(tree.path, files);
  const kept = openMemoryStore();
  const acts = new Map<StoredEvent["type"], () => void>();
  const store = actingStore(kept, acts);
  let rootId = "";
  return {
    root: tree.path,
    path: (name) => join(tree.path, name),
    beforeStored: (type, act) => void acts.set(type, act),
    process(approve, cwd = tree.path) {
      const steps = made.map(([name, input], index) => calls(name, input, `c${index + 1}`));
      const model = scriptedModel({ lead: [steps, says("Done.")] });
      const own = [writeFileTool(), editFileTool(), terminal(writes)].filter(
        ({ name }) => !tools.some((each) => each.name === name),
      );
      const lead = agent({ name: "lead", model, tools: [...own, ...tools] });
      const runtime = make({ store, approve, host: systemHost({ cwd, environment: {} }) });
      return {
        run() {
          const handle = runtime.run(lead, "Go.");
          rootId = handle.id;
          return handle.result;
        },
        resume(id, ...keys) {
          const answers = Object.fromEntries(keys.map((key) => [key, { allow: true } as const]));
          return runtime.resume(id, { agent: lead, answers }).result;
        },
      };
    },
    async failures() {
      const events = await kept.read(rootId);
      return events.flatMap((event) => (event.type === "tool-call-end" ? [event.isError === true] : []));
    },
    [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
  };
}

/** Writes what a command would write, without a process. */
function terminal(written: string): Tool {
  return tool({
    name: "terminal",
    description: "Runs a command.",
    tier: "confirm",
    inputSchema: z.object({ command: z.string(), cwd: z.string().optional() }),
    execute: (_input, { cwd }) => void appendFileSync(resolve(cwd, written), "ran\n"),
  }) as Tool;
}

function actingStore(kept: Store, acts: Map<StoredEvent["type"], () => void>): Store {
  return new Proxy(kept, {
    get(target, name) {
      if (name === "append")
        return async (...given: Parameters<Store["append"]>) => {
          for (const { type } of given[1]) {
            acts.get(type)?.();
            acts.delete(type);
          }
          return target.append(...given);
        };
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Answers the questions one after the other with yes; a question without an answer is denied. */
export function answering(...answers: (() => void)[]): { approve: Approve; asked: ApprovalRequest[] } {
  const asked: ApprovalRequest[] = [];
  const approve: Approve = (request) => {
    const act = answers[asked.length];
    asked.push(request);
    act?.();
    return act === undefined ? { allow: false } : { allow: true };
  };
  return { approve, asked };
}

export const later: Approve = () => "later";

export type Parked = { id: string; keys: string[]; digests: string[] };

export async function park(place: Place): Promise<Parked> {
  const { runId, questions } = await place.process(later).run();
  const keys = questions.map(({ id, digest }) => `${id}:${digest}`);
  return { id: runId, keys, digests: questions.map(({ digest }) => digest) };
}
