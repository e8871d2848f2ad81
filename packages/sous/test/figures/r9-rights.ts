/**
 * R9: random trees of rights through every path that makes or revives a child. Beside the runtime's sets of names this keeps
 * its own account of them as bits, made from the definitions alone; whatever a child has beyond it is a widening.
 */

import { type AgentDefinition, agent } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { Refused } from "../../src/core/refused.ts";
import type { Rights } from "../../src/core/rights.ts";
import type { RunProfile } from "../../src/core/run.ts";
import type { SpawnRequest } from "../../src/core/spawn.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import { Profiles as RealProfiles } from "../../src/profiles.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { between, chance, seededRandom } from "../../src/testing/seeded-random.ts";

export type RightsFigure = {
  seed: number;
  trees: number;
  /** Children made, by path. */
  plain: number;
  defined: number;
  asked: number;
  forked: number;
  revived: number;
  refused: number;
  /** Children with something their parent may not pass on, their definition does not declare or their call did not ask for. */
  widenings: number;
  /** Children with less than they should have: a guard that refuses everything would hide behind the other figure. */
  losses: number;
  /** The first few, in words. */
  examples: string[];
  milliseconds: number;
};

/** The trees of the seeds `seed`, `seed + 1`, …. A mutation check brings profiles of its own. */
export async function runRightsTrees(given: {
  seed: number;
  count: number;
  Profiles?: typeof RealProfiles;
}): Promise<RightsFigure> {
  const startedAt = performance.now();
  const figure: RightsFigure = {
    seed: given.seed,
    trees: given.count,
    plain: 0,
    defined: 0,
    asked: 0,
    forked: 0,
    revived: 0,
    refused: 0,
    widenings: 0,
    losses: 0,
    examples: [],
    milliseconds: 0,
  };
  const Profiles = given.Profiles ?? RealProfiles;
  for (let seed = given.seed; seed < given.seed + given.count; seed++) {
    const profiles = new Profiles(PARTS);
    await new RightsTree(profiles, seededRandom(seed, "rights"), seed, figure).grow();
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

const MODEL = scriptedModel();
const PARTS: ConstructorParameters<typeof RealProfiles>[0] = {
  resolveModel: () => MODEL,
  priceOf: () => undefined,
  limits: { ...DEFAULT_LIMITS, maxDepth: 6 },
  agents: [],
  now: () => 0,
};

const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"];
const ALL = 2 ** NAMES.length - 1;
const TOOLS: readonly Tool[] = NAMES.map(
  (name) => tool({ name, description: name, inputSchema: { type: "object" }, execute: () => name }) as Tool,
);

/** What somebody may have, as bits; made from definitions and never from what the runtime computed. */
type Bits = { use: number; delegate: number; deny: number; spawn: boolean };

type Node = { profile: RunProfile; bits: Bits; parent: Node | undefined; definition: Declared | undefined };

/** A definition and what it says. */
type Declared = { definition: AgentDefinition; tools: number | undefined; below: number; deny: number };

class RightsTree {
  readonly #profiles: RealProfiles;
  readonly #random: Random;
  readonly #seed: number;
  readonly #figure: RightsFigure;

  constructor(profiles: RealProfiles, random: Random, seed: number, figure: RightsFigure) {
    this.#profiles = profiles;
    this.#random = random;
    this.#seed = seed;
    this.#figure = figure;
  }

  async grow(): Promise<void> {
    const root = await this.#root();
    const nodes: Node[] = [root];
    for (let more = between(this.#random, 2, 5); more > 0; more--) {
      const parent = this.#pick(nodes);
      const isRevival = parent.parent !== undefined && chance(this.#random, 0.25);
      const made = isRevival ? this.#revive(parent, nodes) : await this.#child(parent);
      if (made !== undefined) nodes.push(made);
    }
  }

  async #root(): Promise<Node> {
    const declared = this.#declare(2, "root");
    const own = declared.tools ?? 0;
    const bits: Bits = {
      use: own & ~declared.deny,
      delegate: (own | declared.below) & ~declared.deny,
      deny: declared.deny,
      spawn: true,
    };
    const profile = await this.#profiles.root(declared.definition.with({ model: MODEL }));
    return this.#check({ profile, bits, parent: undefined, definition: declared }, ALL, "a root");
  }

  async #child(parent: Node): Promise<Node | undefined> {
    const declared = chance(this.#random, 0.6) ? this.#declare(1, "child") : undefined;
    const base = narrowBits(parent.bits, declared);
    const asked = chance(this.#random, 0.3) ? this.#ask(base.use) : undefined;
    const isFork = chance(this.#random, 0.2);
    const request: SpawnRequest = {
      label: "x",
      task: "y",
      agent: declared?.definition,
      ...(asked === undefined && !isFork
        ? {}
        : {
            options: {
              allowedTools: asked === undefined ? undefined : namesOf(asked),
              context: isFork ? "fork" : undefined,
            },
          }),
    };
    let profile: RunProfile;
    try {
      profile = await this.#profiles.child(parent.profile, request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#figure.refused += 1;
      // Refused is right when it may have no children, or when it asked for what it may not have.
      const isRight = !parent.bits.spawn || (asked !== undefined && (asked & ~base.use) !== 0);
      if (!isRight) this.#note("losses", `refused: ${error.message}`);
      return undefined;
    }
    this.#figure[isFork ? "forked" : asked !== undefined ? "asked" : declared !== undefined ? "defined" : "plain"] += 1;
    const bits =
      asked === undefined ? base : { use: base.use & asked, delegate: base.use & asked, deny: base.deny, spawn: false };
    const node = { profile, bits, parent, definition: declared };
    return this.#check(node, parent.bits.delegate, isFork ? "a fork" : "a child");
  }

  /** A finished child goes on, under the parent it had or one that may pass on less by now. */
  #revive(child: Node, nodes: readonly Node[]): Node {
    const parent = chance(this.#random, 0.5) ? child.parent : this.#pick(nodes);
    if (parent === undefined) return child;
    this.#figure.revived += 1;
    const deny = child.bits.deny | parent.bits.deny;
    const passable = parent.bits.delegate & ~deny;
    const bits: Bits = {
      use: child.bits.use & passable,
      delegate: child.bits.delegate & passable,
      deny,
      spawn: child.bits.spawn && parent.bits.spawn,
    };
    const profile = this.#profiles.revived(child.profile, parent.profile);
    const node = { profile, bits, parent, definition: child.definition };
    return this.#check(node, parent.bits.delegate & child.bits.delegate, "a follow-up");
  }

  /** Everything the runtime would let it do must be in its account, and the other way round. */
  #check(node: Node, ceiling: number, what: string): Node {
    const { profile, bits } = node;
    const { use, delegate, deny, spawn } = profile.rights;
    const has = { use: bitsOf(use), delegate: bitsOf(delegate), deny: bitsOf(deny) };
    const beyond = (has.use & ~bits.use) | (has.delegate & ~bits.delegate) | ((has.use | has.delegate) & ~ceiling);
    const isWider = beyond !== 0 || (bits.deny & ~has.deny) !== 0 || (spawn && !bits.spawn);
    const canDo = this.#dispatchable(profile);
    if (isWider || (canDo & ~bits.use) !== 0) this.#note("widenings", `${what} has ${inWords(profile.rights)}`);
    const lacks = (bits.use & ~has.use) | (bits.delegate & ~has.delegate) | (has.deny & ~bits.deny);
    if (lacks !== 0 || (bits.spawn && !spawn)) this.#note("losses", `${what} has ${inWords(profile.rights)}`);
    return node;
  }

  /** The rule of the dispatcher: what is among its tools and in its rights, and tools for children only with the right to have any. */
  #dispatchable({ tools, rights }: RunProfile): number {
    let bits = 0;
    for (const [name, { tool: each }] of tools.byName) {
      if (each.category === "subagent") continue;
      if (rights.use.has(name)) bits |= bitOf(name);
    }
    return bits;
  }

  #declare(levels: number, name: string): Declared {
    const random = this.#random;
    const tools = chance(random, name === "root" ? 1 : 0.8) ? Math.floor(random() * (ALL + 1)) : undefined;
    const deny = chance(random, 0.4) ? Math.floor(random() * (ALL + 1)) & Math.floor(random() * (ALL + 1)) : 0;
    const subagents: Declared[] = [];
    for (let more = levels > 0 ? between(random, 0, 2) : 0; more > 0; more--) {
      subagents.push(this.#declare(levels - 1, `sub${more}`));
    }
    const definition = agent({
      name,
      tools: tools === undefined ? undefined : TOOLS.filter((each) => (tools & bitOf(each.name)) !== 0),
      deny: deny === 0 ? undefined : namesOf(deny),
      subagents: subagents.length === 0 ? undefined : subagents.map((each) => each.definition),
      delegate: chance(random, 0.15),
    });
    const below = subagents.reduce((bits, each) => bits | (each.tools ?? 0) | each.below, 0);
    return { definition, tools, below, deny };
  }

  /** Mostly some of what it may have, now and then something else. */
  #ask(from: number): number {
    const some = from & Math.floor(this.#random() * (ALL + 1));
    return chance(this.#random, 0.15) ? some | (1 << between(this.#random, 0, NAMES.length - 1)) : some;
  }

  #pick(nodes: readonly Node[]): Node {
    const node = nodes[Math.floor(this.#random() * nodes.length)];
    if (node === undefined) throw new Error("A tree has at least its root");
    return node;
  }

  #note(kind: "widenings" | "losses", words: string): void {
    this.#figure[kind] += 1;
    if (this.#figure.examples.length < 5) this.#figure.examples.push(`seed ${this.#seed}: ${kind}: ${words}`);
  }
}

/** effective(child) = declared by its definition ∩ delegable by its parent, and deny wins: the sentence of H3, in bits. */
function narrowBits(parent: Bits, declared: Declared | undefined): Bits {
  const deny = parent.deny | (declared?.deny ?? 0);
  const passable = parent.delegate & ~deny;
  const use = passable & (declared?.tools ?? ALL);
  const passesOn = declared?.tools === undefined ? ALL : declared.tools | declared.below;
  return { use, delegate: passable & passesOn, deny, spawn: parent.spawn };
}

function bitOf(name: string): number {
  const index = NAMES.indexOf(name);
  return index < 0 ? 0 : 1 << index;
}

function bitsOf(names: Iterable<string>): number {
  let bits = 0;
  for (const name of names) bits |= bitOf(name);
  return bits;
}

function namesOf(bits: number): string[] {
  return NAMES.filter((name) => (bits & bitOf(name)) !== 0);
}

function inWords({ use, delegate, deny, spawn }: Rights): string {
  return `use ${[...use].join("")}, delegate ${[...delegate].join("")}, deny ${[...deny].join("")}, spawn ${spawn}`;
}
