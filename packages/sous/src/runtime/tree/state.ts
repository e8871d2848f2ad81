/** A tree while it exists: its parts, who is in it, and what was there before a restart. */

import type { ToolDefinition } from "../../core/model.ts";
import type { RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { ReadyTool, RunTools, ShownTool, ToolSet } from "../../core/tool-set.ts";
import { RunListeners } from "../events/bus.ts";
import { AgentBook } from "../subagents/agent-book.ts";
import type { TreeParts } from "./parts.ts";
import { EarlierRuns } from "./restore/earlier-runs.ts";

/** A run that has stopped without an end, and how it stood then. */
export type ParkedRun = { readonly run: Run; readonly outcome: RunOutcome };

export type TreeState = {
  readonly parts: TreeParts;
  readonly book: AgentBook;
  /** Calls that needed a person when there was none. */
  readonly denied: RunResult["denied"];
  /** Runs that wait for an answer that comes later, by the run above them. */
  readonly parked: Map<Run | undefined, ParkedRun[]>;
  /** Set when the tree continues after a restart. */
  readonly earlierRuns: EarlierRuns | undefined;
  readonly listeners: RunListeners;
  readonly shownTools: ShownTools;
  /** Set from the first child that is placed. */
  elsewhere: { readonly view: { start(): void; stop(): void } | undefined } | undefined;
};

export function newState(parts: TreeParts): TreeState {
  const book = new AgentBook();
  const earlierRuns = parts.earlier && new EarlierRuns(parts.earlier, book, parts);
  const listeners = new RunListeners(parts.asking.journal);
  return {
    parts,
    book,
    denied: [],
    parked: new Map(),
    earlierRuns,
    listeners,
    shownTools: new ShownTools(),
    elsewhere: undefined,
  };
}

/** The tools of runs as their `run-start` describes them: each set in full once in a tree, later by its hash. */
export class ShownTools {
  readonly #described = new Set<string>();
  /** The hashes by definitions: a fork shares those of its parent, which started before it. */
  readonly #sets = new WeakMap<readonly ToolDefinition[], { hash: string; shown: readonly ShownTool[] }>();

  /** The set in full: of the first run of another journal. */
  whole(set: ToolSet): RunTools {
    return this.#describe(set, true);
  }

  describe(set: ToolSet): RunTools {
    const { hash } = this.#setOf(set);
    const isNew = !this.#described.has(hash);
    this.#described.add(hash);
    return this.#describe(set, isNew);
  }

  #describe(set: ToolSet, isNew: boolean): RunTools {
    const { bytes, isDeepest, definitions, byName } = set;
    const { hash, shown } = this.#setOf(set);
    const tools = isNew ? { hash, shown, bytes, isDeepest } : { hash, bytes, isDeepest };
    const withheld = definitions.map(({ name }) => name).filter((name) => !byName.has(name));
    return withheld.length === 0 ? tools : { ...tools, withheld };
  }

  #setOf({ definitions, byName }: ToolSet): { hash: string; shown: readonly ShownTool[] } {
    const known = this.#sets.get(definitions);
    if (known !== undefined) return known;
    const ready = definitions.flatMap(({ name }) => byName.get(name) ?? []);
    const described = ready.map(describeTool);
    const text = described.map((each) => each.text).join(",");
    const made = { hash: shortHash(text), shown: described.map((each) => each.shown) };
    this.#sets.set(definitions, made);
    return made;
  }
}

/** The set before: the roots of a process mostly have the same tools. */
let lastSet: { readonly text: string; readonly hash: string } | undefined;

function shortHash(text: string): string {
  if (text === lastSet?.text) return lastSet.hash;
  // Loaded when it is needed: it would be a tenth of the time that importing sous takes.
  const hash = process.getBuiltinModule("node:crypto").hash("sha256", text).slice(0, 16);
  lastSet = { text, hash };
  return hash;
}

type Described = { text: string; shown: ShownTool };

const descriptions = new WeakMap<ReadyTool, Described>();

function describeTool(ready: ReadyTool): Described {
  const known = descriptions.get(ready);
  if (known !== undefined) return known;
  const { category, tier, effect, agent } = ready.tool;
  const facts = { category, tier, effect, agent: agent?.name, provider: ready.definition.provider?.id };
  const text = JSON.stringify({ ...ready.definition, ...facts });
  // A copy: what a schema was made from may change later.
  const described: Described = { text, shown: JSON.parse(text) };
  descriptions.set(ready, described);
  return described;
}
