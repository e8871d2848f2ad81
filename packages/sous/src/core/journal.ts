/** The port of the journal of one tree: every fact goes through it, is numbered, kept, and only then shown. */

import type { DeltaBody, EventListener, RunIdentity, StoredBody } from "./event.ts";

export type Journal = {
  /** Never waits. */
  append(who: RunIdentity, body: StoredBody): void;
  /** Shown behind everything that is not yet kept; not stored. Costs nothing when nobody listens. */
  delta(who: RunIdentity, body: DeltaBody): void;
  /** True when somebody would see a delta. */
  readonly isWatched: boolean;
  /** Undefined when everything is kept; else resolves when it is. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  subscribe(listener: EventListener): Disposable;
  /** Why the events of this tree are no longer kept, if so. */
  readonly degraded: string | undefined;
};
