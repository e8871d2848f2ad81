/** External agents in trees of ours, and a client of others on `sous acp serve`: what can be looked at, one part at a time. */

import { lookAtServe } from "./acpx.ts";
import type { Look } from "./look.ts";
import { EXTERNAL_NAMES, startMock } from "./mock.ts";
import { lookAtTree } from "./one-tree.ts";
import { installPeers } from "./peers.ts";
import { makePlace } from "./place.ts";
import { lookAtAgent } from "./scenarios.ts";

export const EXTERNAL_PARTS = [...EXTERNAL_NAMES, "tree", "acpx"] as const;
type ExternalPart = (typeof EXTERNAL_PARTS)[number];

export function isExternalPart(part: string): part is ExternalPart {
  return EXTERNAL_PARTS.some((each) => each === part);
}

export async function lookExternal(look: Look, parts: readonly ExternalPart[]): Promise<void> {
  if (parts.length === 0) return;
  const failure = installPeers();
  if (failure !== undefined) {
    look.at("the peers are installed", false, failure);
    return;
  }
  await using mock = await startMock();
  for (const part of parts) {
    using place = makePlace(mock.url);
    if (part === "tree") await lookAtTree({ mock, place, look });
    else if (part === "acpx") await lookAtServe({ mock, place, look });
    else await lookAtAgent({ mock, place, look, name: part });
  }
}
