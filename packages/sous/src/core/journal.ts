/** The port of the journal. */

import type { DeltaBody, EventListener, RunIdentity, StoredBody } from "./event.ts";

/** The journal of one tree: every fact goes through it, is numbered, kept, and only then shown. */
export type Journal = {
  /** Never waits. */
  append(who: RunIdentity, body: StoredBody): void;
  /** Shown behind everything that is not yet kept; not stored. Costs nothing without listeners. */
  delta(who: RunIdentity, body: DeltaBody): void;
  /** True when a listener would see a delta. */
  readonly isWatched: boolean;
  /** Undefined when everything is kept; else resolves when it is. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  subscribe(listener: EventListener): Disposable;
  /** The last event that has been shown or is being shown: a listener that subscribes now may miss those up to it. */
  readonly shownSeq: number;
  /** Why the events of this tree are no longer kept, if so. */
  readonly degraded: string | undefined;
};
