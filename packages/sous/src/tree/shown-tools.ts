/** The tools of runs as their `run-start` describes them: each set in full once in a tree, later by its hash. */

import { createHash } from "node:crypto";
import type { RunTools, ShownTool } from "../core/event.ts";
import type { ToolDefinition } from "../core/model.ts";
import type { ToolSet } from "../core/run.ts";

export class ShownTools {
  readonly #described = new Set<string>();
  /** By definitions: a fork shares those of its parent, which started before it. */
  readonly #sets = new WeakMap<readonly ToolDefinition[], { hash: string; shown: readonly ShownTool[] }>();

  describe(set: ToolSet): RunTools {
    const { bytes, isDeepest, definitions, byName } = set;
    const { hash, shown } = this.#setOf(set);
    const isNew = !this.#described.has(hash);
    this.#described.add(hash);
    const tools = isNew ? { hash, shown, bytes, isDeepest } : { hash, bytes, isDeepest };
    if (byName.size === definitions.length) return tools;
    return { ...tools, withheld: definitions.map(({ name }) => name).filter((name) => !byName.has(name)) };
  }

  #setOf({ definitions, byName }: ToolSet): { hash: string; shown: readonly ShownTool[] } {
    const known = this.#sets.get(definitions);
    if (known !== undefined) return known;
    const text = JSON.stringify(
      [...byName.values()].map(({ tool, definition }) => {
        const { category, tier, effect, agent } = tool;
        return { ...definition, category, tier, effect, agent: agent?.name };
      }),
    );
    // A copy: what a schema was made from may change later.
    const made = { hash: createHash("sha256").update(text).digest("hex").slice(0, 16), shown: JSON.parse(text) };
    this.#sets.set(definitions, made);
    return made;
  }
}
