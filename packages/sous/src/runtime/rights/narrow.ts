/** The one function that computes what a child may do. Pure; used on every path that makes or revives a child. */

import type { AskedRights, DeclaredRights, Rights, StoredRights } from "../../core/rights.ts";

/**
 * effective(child) = declared by its definition ∩ asked for in the call ∩ delegable by its parent, and deny wins.
 * Nothing here adds: every set of the result is a subset of the parent's `delegate`.
 */
export function narrow(parent: Rights, declared: DeclaredRights, asked: AskedRights): Rights {
  // guard: narrow-deny
  const deny =
    declared.deny === undefined || declared.deny.length === 0 ? parent.deny : parent.deny.union(new Set(declared.deny));
  const passable = without(parent.delegate, deny);
  const use = keepOnly(keepOnly(passable, declared.tools), asked.tools); // guard: narrow-tools
  // It may pass on its own tools, or what its definition says, never more than its parent may pass on.
  const delegate =
    asked.tools !== undefined ? use : declared.delegate === undefined ? use : keepOnly(passable, declared.delegate);
  // guard: narrow-spawn
  return { use, delegate, deny, spawn: parent.spawn && declared.spawn !== false && asked.tools === undefined };
}

/** The rights of a root: what its definition says, since it has no parent. */
export function rootRights(declared: DeclaredRights): Rights {
  const deny = new Set(declared.deny ?? []);
  const use = without(new Set(declared.tools ?? []), deny);
  const delegate = without(new Set(declared.delegate ?? declared.tools ?? []), deny);
  return { use, delegate, deny, spawn: declared.spawn !== false };
}

/** The earlier rights of a run, cut down to what its parent may pass on now. */
export function narrowAgain(earlier: Rights, parent: Rights): Rights {
  const deny = earlier.deny.union(parent.deny);
  const passable = without(parent.delegate, deny);
  return {
    use: intersection(earlier.use, passable), // guard: narrow-follow-up
    delegate: intersection(earlier.delegate, passable),
    deny,
    spawn: earlier.spawn && parent.spawn,
  };
}

/** The rights that hold now and held when the run began: the same object when nothing is lost. */
export function withinStored(rights: Rights, stored: StoredRights): Rights {
  const use = new Set(stored.use);
  const delegate = new Set(stored.delegate);
  const isAll =
    rights.use.isSubsetOf(use) &&
    rights.delegate.isSubsetOf(delegate) &&
    stored.deny.every((name) => rights.deny.has(name)) &&
    (stored.spawn || !rights.spawn);
  if (isAll) return rights;
  const deny = rights.deny.union(new Set(stored.deny));
  return {
    use: without(intersection(rights.use, use), deny),
    delegate: without(intersection(rights.delegate, delegate), deny),
    deny,
    spawn: rights.spawn && stored.spawn,
  };
}

export function toStoredRights(rights: Rights): StoredRights {
  return { use: [...rights.use], delegate: [...rights.delegate], deny: [...rights.deny], spawn: rights.spawn };
}

function keepOnly(set: ReadonlySet<string>, names: readonly string[] | undefined): ReadonlySet<string> {
  if (names === undefined) return set;
  return new Set(names.filter((name) => set.has(name)));
}

function intersection(one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...one].filter((name) => other.has(name)));
}

function without(set: ReadonlySet<string>, deny: ReadonlySet<string>): ReadonlySet<string> {
  return deny.size === 0 ? set : set.difference(deny);
}
