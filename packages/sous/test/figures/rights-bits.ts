/** Rights as bits, made from definitions alone: the account that the runtime's own sets of names are compared with. */

import { type AgentDefinition, agent } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import { between, chance } from "../../src/testing/world.ts";

/** What somebody may have. */
export type Bits = { use: number; delegate: number; deny: number; spawn: boolean };

/** A definition and what it says. */
export type Declared = { definition: AgentDefinition; tools: number | undefined; below: number; deny: number };

export const NAMES: readonly string[] = ["a", "b", "c", "d", "e", "f", "g", "h"];
export const ALL: number = 2 ** NAMES.length - 1;

export const TOOLS: readonly Tool[] = NAMES.map(
  (name) => tool({ name, description: name, inputSchema: { type: "object" }, execute: () => name }) as Tool,
);

/** effective(child) = declared by its definition ∩ asked for in the call ∩ delegable by its parent, and deny wins (H3). */
export function narrowBits(parent: Bits, declared: Declared | undefined, asked: number | undefined): Bits {
  const deny = parent.deny | (declared?.deny ?? 0);
  const passable = parent.delegate & ~deny;
  const use = passable & (declared?.tools ?? ALL) & (asked ?? ALL);
  const passesOn = declared?.tools === undefined ? ALL : declared.tools | declared.below;
  return {
    use,
    delegate: asked === undefined ? passable & passesOn : use,
    deny,
    spawn: parent.spawn && asked === undefined && (declared === undefined || mayHaveChildren(declared)),
  };
}

/** `delegate: false` and nobody to call means no children at all. */
function mayHaveChildren({ definition }: Declared): boolean {
  return definition.delegate !== false || (definition.subagents ?? []).length > 0;
}

/** The rights of a root: nobody is above it. */
export function rootBits(declared: Declared): Bits {
  const { tools = 0, below, deny } = declared;
  return { use: tools & ~deny, delegate: (tools | below) & ~deny, deny, spawn: mayHaveChildren(declared) };
}

export type DeclareOptions = {
  name: string;
  /** Levels of specialists below it. */
  levels: number;
  tools: readonly Tool[];
  /** The share of definitions that do not name their tools, and of those that may start children made up by a call. */
  unnamed: number;
  delegating: number;
};

/** A random definition. */
export function declare(random: Random, { name, levels, tools: all, unnamed, delegating }: DeclareOptions): Declared {
  const tools = chance(random, unnamed) ? undefined : someBits(random);
  const deny = chance(random, 0.4) ? someBits(random) & someBits(random) : 0;
  const subagents: Declared[] = [];
  for (let more = levels > 0 ? between(random, 0, 2) : 0; more > 0; more--) {
    subagents.push(declare(random, { name: `sub${more}`, levels: levels - 1, tools: all, unnamed: 0.2, delegating }));
  }
  const definition = agent({
    name,
    tools: tools === undefined ? undefined : all.filter((each) => (tools & bitsOf([each.name])) !== 0),
    deny: deny === 0 ? undefined : namesOf(deny),
    subagents: subagents.length === 0 ? undefined : subagents.map((each) => each.definition),
    delegate: chance(random, delegating),
  });
  const below = subagents.reduce((bits, each) => bits | (each.tools ?? 0) | each.below, 0);
  return { definition, tools, below, deny };
}

export function someBits(random: Random): number {
  return Math.floor(random() * (ALL + 1));
}

export function bitsOf(names: Iterable<string>): number {
  let bits = 0;
  for (const name of names) {
    const index = NAMES.indexOf(name);
    if (index >= 0) bits |= 1 << index;
  }
  return bits;
}

export function namesOf(bits: number): string[] {
  return NAMES.filter((_, index) => (bits & (1 << index)) !== 0);
}
