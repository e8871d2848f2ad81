/**
 * R9: random trees of rights through every path that makes or revives a child. Beside the runtime's sets of names this keeps
 * its own account of them as bits, made from the definitions alone; whatever a child has beyond it is a widening.
 */

import type { Random } from "../../src/core/clock.ts";
import { Refused } from "../../src/core/errors.ts";
import type { Rights } from "../../src/core/rights.ts";
import type { RunProfile } from "../../src/core/run.ts";
import type { SpawnRequest } from "../../src/core/spawn.ts";
import { DEFAULT_LIMITS } from "../../src/core/words/limits.ts";
import { Profiles as RealProfiles } from "../../src/runtime/tree/profiles.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import {
  ALL,
  type Bits,
  bitsOf,
  declare,
  NAMES,
  namesOf,
  narrowBits,
  rootBits,
  someBits,
  TOOLS,
} from "./rights-bits.ts";

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
  const profiles = new (given.Profiles ?? RealProfiles)(PARTS);
  for (let seed = given.seed; seed < given.seed + given.count; seed++) {
    await new RightsTree(profiles, seededRandom(seed, "rights"), seed, figure).grow();
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

const MODEL = scriptedModel();
const PARTS: ConstructorParameters<typeof RealProfiles>[0] = {
  resolveModel: () => MODEL,
  priceOf: () => undefined,
  windowOf: () => undefined,
  allowedModels: [],
  limits: { ...DEFAULT_LIMITS, maxDepth: 6 },
  agents: [],
  now: () => 0,
};

type Node = { profile: RunProfile; bits: Bits; parent: Node | undefined };

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
    const nodes: Node[] = [await this.#root()];
    for (let more = between(this.#random, 1, 4); more > 0; more--) {
      const node = this.#pick(nodes);
      if (node.parent !== undefined && chance(this.#random, 0.25)) nodes.push(this.#revive(node, nodes));
      // Whoever was given a list of tools starts nobody: the gate sees to that before it asks for rights.
      else if (node.bits.spawn) nodes.push(...(await this.#child(node)));
    }
  }

  async #root(): Promise<Node> {
    const declared = this.#declare("root", 2);
    const profile = await this.#profiles.root(declared.definition.with({ model: MODEL }));
    return this.#check({ profile, bits: rootBits(declared), parent: undefined }, ALL, "a root");
  }

  async #child(parent: Node): Promise<Node[]> {
    const declared = chance(this.#random, 0.6) ? this.#declare("child", 1) : undefined;
    const { use } = narrowBits(parent.bits, declared, undefined);
    const asked = chance(this.#random, 0.3) ? this.#ask(use) : undefined;
    const isFork = chance(this.#random, 0.2);
    const request: SpawnRequest = { label: "x", task: "y", agent: declared?.definition };
    if (asked !== undefined || isFork) {
      const allowedTools = asked === undefined ? undefined : namesOf(asked);
      request.options = { allowedTools, context: isFork ? "fork" : undefined };
    }
    let profile: RunProfile;
    try {
      profile = await this.#profiles.child(parent.profile, request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#figure.refused += 1;
      const asksTooMuch = asked !== undefined && (asked & ~use) !== 0;
      if (!asksTooMuch) this.#note("losses", `refused: ${error.message}`);
      return [];
    }
    this.#figure[isFork ? "forked" : asked !== undefined ? "asked" : declared !== undefined ? "defined" : "plain"] += 1;
    const node = { profile, bits: narrowBits(parent.bits, declared, asked), parent };
    return [this.#check(node, parent.bits.delegate, isFork ? "a fork" : "a child")];
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
    return this.#check({ profile, bits, parent }, parent.bits.delegate & child.bits.delegate, "a follow-up");
  }

  /** Everything the runtime would let it do must be in its account, and the other way round. */
  #check(node: Node, ceiling: number, what: string): Node {
    const { profile, bits } = node;
    const { use, delegate, deny, spawn } = profile.rights;
    const has = { use: bitsOf(use), delegate: bitsOf(delegate), deny: bitsOf(deny) };
    const beyond = (has.use & ~bits.use) | (has.delegate & ~bits.delegate) | ((has.use | has.delegate) & ~ceiling);
    const isWider = beyond !== 0 || (bits.deny & ~has.deny) !== 0 || (spawn && !bits.spawn);
    const canDo = bitsOf(profile.tools.byName.keys()) & has.use;
    if (isWider || (canDo & ~bits.use) !== 0) this.#note("widenings", `${what} has ${inWords(profile.rights)}`);
    const lacks = (bits.use & ~has.use) | (bits.delegate & ~has.delegate) | (has.deny & ~bits.deny);
    if (lacks !== 0 || (bits.spawn && !spawn)) this.#note("losses", `${what} has ${inWords(profile.rights)}`);
    return node;
  }

  /** Mostly some of what it may have, now and then something else. */
  #ask(from: number): number {
    const some = from & someBits(this.#random);
    return chance(this.#random, 0.15) ? some | (1 << between(this.#random, 0, NAMES.length - 1)) : some;
  }

  #declare(name: string, levels: number) {
    return declare(this.#random, { name, levels, tools: TOOLS, unnamed: 0.2, delegating: 0.05 });
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

function inWords({ use, delegate, deny, spawn }: Rights): string {
  return `use ${[...use].join("")}, delegate ${[...delegate].join("")}, deny ${[...deny].join("")}, spawn ${spawn}`;
}
