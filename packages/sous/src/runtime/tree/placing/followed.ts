/** The events of placed journals as the root of their tree shows them: each once, in the order of its journal. */

import type { Placing } from "../../../core/engine.ts";
import type { StoredEvent } from "../../../core/event.ts";

type FollowedParts = {
  readonly rootId: string;
  readonly placing: Pick<Placing, "journals">;
  read(journalId: string, options: { after: number; limit: number }): Promise<readonly StoredEvent[]>;
  /** Events from before the first look are old where the tree continues: they were shown before. */
  readonly isContinued: boolean;
  /** The root works elsewhere, too: its own journal is shown with the others. */
  readonly isRootElsewhere?: boolean;
  onEvent(event: StoredEvent, place: { journalId: string; isOld: boolean }): void;
  /** Called when everything that was kept has been passed on. */
  onShown?(): void;
};

/** Journals that are read at once. */
const AT_ONCE = 4;
/** Events of one journal that are read at once. */
const READ_AT_ONCE = 256;

export class Followed {
  readonly rootId: string;
  readonly #parts: FollowedParts;
  readonly #shown = new Map<string, number>();
  #isOld: boolean;
  #showing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(parts: FollowedParts) {
    this.rootId = parts.rootId;
    this.#parts = parts;
    this.#isOld = parts.isContinued;
  }

  /** Shows everything that is kept by now. While that is going on, all further wishes are one. */
  show(): Promise<void> {
    if (this.#showing === undefined) {
      this.#showing = this.#showNew().finally(() => {
        this.#showing = undefined;
      });
      return this.#showing;
    }
    this.#next ??= this.#showing
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.show();
      });
    return this.#next;
  }

  async #showNew(): Promise<void> {
    const { placing, rootId } = this.#parts;
    const journals = (await placing.journals(rootId)).filter(
      ({ journalId, lastSeq }) => journalId !== rootId && lastSeq > (this.#shown.get(journalId) ?? 0),
    );
    for (let index = 0; index < journals.length; index += AT_ONCE)
      await Promise.all(journals.slice(index, index + AT_ONCE).map(({ journalId }) => this.#showJournal(journalId)));
    if (this.#parts.isRootElsewhere === true) await this.#showJournal(rootId);
    this.#isOld = false;
    this.#parts.onShown?.();
  }

  async #showJournal(journalId: string): Promise<void> {
    const { read, onEvent } = this.#parts;
    for (;;) {
      const after = this.#shown.get(journalId) ?? 0;
      const events = await read(journalId, { after, limit: READ_AT_ONCE });
      for (const event of events) {
        this.#shown.set(journalId, event.seq);
        onEvent(event, { journalId, isOld: this.#isOld });
      }
      if (events.length < READ_AT_ONCE) return;
    }
  }
}
