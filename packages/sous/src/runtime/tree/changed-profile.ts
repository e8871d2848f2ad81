/** A profile that differs from one that was built. */

import type { Rights } from "../../core/rights.ts";
import type { RunProfile } from "../../core/run.ts";
import { toStoredRights } from "../rights/narrow.ts";
import { forkedSet, withoutLost } from "./tool-set.ts";

/** A fork keeps its parent's model, prefix and definitions byte for byte; what it may not use is refused at dispatch. */
export function asFork(changed: RunProfile, parent: RunProfile): RunProfile {
  const { model, provider, price, contextWindow, instructions, notes } = parent;
  const tools = forkedSet(parent.tools, changed.tools);
  return { ...changed, model, provider, price, contextWindow, instructions, notes, tools };
}

/** The same profile with fewer rights: it is not shown what it has lost. */
export function withFewerRights(profile: RunProfile, rights: Rights): RunProfile {
  const tools = withoutLost(profile.tools, profile.rights, rights);
  return { ...profile, rights, storedRights: toStoredRights(rights), tools };
}
