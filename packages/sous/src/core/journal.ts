/** The port of a journal while it is written. */

import type { DeltaBody, EventListener, RunIdentity, StoredBody, StoredEvent } from "./event.ts";

/** A journal while it is written: every fact goes through it, is numbered, kept, and only then shown. */
export type Journal = {
  /** Never waits. */
  append(who: RunIdentity, body: StoredBody): void;
  /** Shows a delta behind everything that is not yet kept, and does not store it. Costs nothing without listeners. */
  delta(who: RunIdentity, body: DeltaBody): void;
  /** True when a listener would see a delta. */
  readonly isWatched: boolean;
  /** Undefined when everything is kept; else resolves when it is. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  subscribe(listener: EventListener): Disposable;
  /** Shows an event of another journal of the tree, which is kept there. */
  showForeign(event: StoredEvent, journalId: string): void;
  /**
   * Nothing is kept from now on, as if another process had taken the journal over. Resolves when what was being written is kept or
   * has failed.
   */
  leave(reason: string): Promise<void>;
  /** The last event that has been shown or is being shown: a listener that subscribes now may miss those up to it. */
  readonly shownSeq: number;
  /** The reason why the events of this tree are no longer kept, if so. */
  readonly degraded: string | undefined;
};
