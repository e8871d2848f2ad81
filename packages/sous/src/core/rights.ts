/** Rights: what a run may do, and what it may pass on. `runtime/rights/narrow.ts` computes a child's. */

export type Rights = {
  /** Names of the tools the run may call; subagent tools are not among them, `spawn` speaks of those. */
  readonly use: ReadonlySet<string>;
  /** Names of the tools it may pass on to a child. */
  readonly delegate: ReadonlySet<string>;
  /** Names nothing from here down may use, tools for children among them. */
  readonly deny: ReadonlySet<string>;
  /** True when it may have children at all. */
  readonly spawn: boolean;
};

/** The rights that a definition declares; undefined = whatever the parent passes on. */
export type DeclaredRights = {
  readonly tools: readonly string[] | undefined;
  /** Names of the tools it may pass on; its own tools and those of its subagents when undefined. */
  readonly delegate: readonly string[] | undefined;
  readonly deny: readonly string[] | undefined;
  /** False: it may have no children at all. */
  readonly spawn: false | undefined;
};

/** The rights that a call asks for; a list is exact and means no subagent tools. */
export type AskedRights = { readonly tools: readonly string[] | undefined };

/** True when a run with these rights may call the tool, apart from its depth. */
export function mayUse({ name, category }: { name: string; category: string }, rights: Rights): boolean {
  return category === "subagent" ? rights.spawn && !rights.deny.has(name) : rights.use.has(name);
}

/** The rights as `run-start` stores them. */
export type StoredRights = { use: string[]; delegate: string[]; deny: string[]; spawn: boolean };
