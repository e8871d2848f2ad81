/** Placed runs in memory: workers of this process take them, and its own listeners hear of them. */

import { keyOfQuestion } from "../../core/approval.ts";
import type {
  JournalState,
  Mail,
  NewMail,
  News,
  Placing,
  TakenJournal,
  WorkerFacts,
  WorkerState,
} from "../../core/engine.ts";
import { isDecided, isProgress } from "../../core/engine.ts";
import { StoreError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { quietClock } from "../../machine/host.ts";
import { isQueued, type MemoryJournal, type MemoryPlaced, type MemoryRow } from "./memory-journals.ts";
import { MAX_SILENCE_MS, type NewsListeners, newsListeners } from "./news.ts";
import { checkAbove, checkPlaced, runAbove } from "./placed-start.ts";

type MemoryTables = {
  readonly journals: ReadonlyMap<string, MemoryJournal>;
  readonly rows: ReadonlyMap<string, MemoryRow>;
  append(journalId: string, start: StoredEvent): void;
};

const HERE = "this process";

export class MemoryPlacing implements Placing, Disposable {
  readonly #tables: MemoryTables;
  readonly #workers = new Set<WorkerFacts>();
  readonly #news: NewsListeners = newsListeners({ timer: quietClock.timer, tickMs: MAX_SILENCE_MS, look: () => true });
  #mail: Mail[] = [];
  #lastMail = 0;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  async place(starts: readonly EventOf<"run-start">[]): Promise<void> {
    const { journals, rows, append } = this.#tables;
    const begins = new Map(starts.map((start) => [start.runId, start]));
    for (const start of starts) checkPlaced(start);
    for (const journalId of begins.keys()) if (journals.has(journalId)) begins.delete(journalId);
    for (const start of begins.values()) {
      const above = runAbove(start);
      if (above !== undefined) checkAbove(start, rows.get(above)?.journal.rootId);
      if (rows.has(start.runId)) throw new StoreError(`A run with the id ${start.runId} is in the store already`);
    }
    for (const [journalId, start] of begins) {
      append(journalId, start);
      const journal = journals.get(journalId);
      if (journal !== undefined)
        journal.placed = { agent: start.agent, isOpen: true, claims: 0, mailSeen: 0, worker: undefined };
    }
    const [journalId] = begins.keys();
    if (journalId !== undefined) this.#tell({ kind: "placed", ...(begins.size === 1 && { journalId }) });
  }

  async take(worker: WorkerFacts, limit: number): Promise<TakenJournal[]> {
    const taken: TakenJournal[] = [];
    for (const journal of this.#tables.journals.values()) {
      if (taken.length >= limit) break;
      const { journalId, placed, isOwned, lost } = journal;
      if (placed?.isOpen !== true || isOwned || lost !== undefined || !worker.agents.includes(placed.agent)) continue;
      if (worker.folder !== undefined && this.#tables.rows.get(journalId)?.start.cwd !== worker.folder) continue;
      if (journal.questions.size > 0 && !this.#isWoken(journal, placed)) continue;
      const { fence } = this.claim(journal);
      placed.worker = worker.name;
      placed.mailSeen = this.#mailOf(journalId).at(-1)?.id ?? placed.mailSeen;
      taken.push({ journalId, fence, claims: placed.claims });
    }
    return taken;
  }

  claim(journal: MemoryJournal): { fence: number } {
    journal.fence += 1;
    journal.isOwned = true;
    journal.wasClaimed = true;
    if (journal.placed?.isOpen === true) journal.placed.claims += 1;
    return { fence: journal.fence };
  }

  async enlist(worker: WorkerFacts): Promise<AsyncDisposable> {
    this.#workers.add(worker);
    return { [Symbol.asyncDispose]: async () => void this.#workers.delete(worker) };
  }

  async workers(): Promise<WorkerState[]> {
    const held = [
      ...this.#tables.journals.values().filter(({ placed, isOwned }) => isOwned && placed?.isOpen === true),
    ];
    return [...this.#workers].map((worker) => ({
      ...worker,
      where: HERE,
      isAlive: true,
      isWatched: true,
      held: held.filter(({ placed }) => placed?.worker === worker.name).length,
    }));
  }

  async ends(journalIds: readonly string[]): Promise<EventOf<"run-end">[]> {
    return journalIds.flatMap((journalId) => {
      const { journal, endIndex = -1 } = this.#tables.rows.get(journalId) ?? {};
      const end = journal?.events[endIndex];
      return journal?.journalId === journalId && end?.type === "run-end" ? [end] : [];
    });
  }

  async journals(rootId: string): Promise<JournalState[]> {
    const placed = this.#tables.journals.values().filter((journal) => {
      return journal.rootId === rootId && journal.journalId !== rootId;
    });
    return [...placed].map((journal) => {
      const { journalId, events, placed, isOwned, wasClaimed } = journal;
      const where = isOwned || wasClaimed ? HERE : undefined;
      return {
        journalId,
        lastSeq: events.at(-1)?.seq ?? 0,
        state: this.#stateOf(journal),
        where,
        claims: placed?.claims ?? 0,
      };
    });
  }

  #stateOf(journal: MemoryJournal): JournalState["state"] {
    if (this.#tables.rows.get(journal.journalId)?.endIndex !== undefined) return "ended";
    if (journal.isOwned) return "held";
    if (isQueued(journal)) return "queued";
    return journal.questions.size > 0 ? "parked" : "dead";
  }

  async post(mail: readonly NewMail[]): Promise<void> {
    for (const { to, isForTree = false, body } of mail) {
      for (const { journalId, rootId, placed } of this.#tables.journals.values()) {
        if (placed?.isOpen !== true || (isForTree ? rootId : journalId) !== to) continue;
        this.#lastMail += 1;
        this.#mail.push({ id: this.#lastMail, journalId, body });
        this.#tell({ kind: "mail", journalId });
      }
    }
  }

  async mail(journalIds: readonly string[], after: number): Promise<Mail[]> {
    const wanted = new Set(journalIds);
    return this.#mail.filter(({ id, journalId }) => id > after && wanted.has(journalId));
  }

  listen(onNews: (news: News) => void): Disposable {
    return this.#news.listen(onNews);
  }

  /** An event was added to a journal that was placed. */
  note(journal: MemoryJournal, placed: MemoryPlaced, event: StoredEvent): void {
    const { journalId } = journal;
    if (isProgress(event)) placed.claims = 0;
    if ("mail" in event) placed.mailSeen = Math.max(placed.mailSeen, event.mail ?? 0);
    if (event.type !== "run-end" || event.runId !== journalId) return;
    placed.isOpen = false;
    this.#mail = this.#mail.filter((mail) => mail.journalId !== journalId);
    this.#tell({ kind: "ended", journalId });
  }

  /** A claim was given back: another worker may take it. */
  noteFree({ journalId, placed }: MemoryJournal): void {
    if (placed?.isOpen === true) this.#tell({ kind: "placed", journalId });
  }

  noteGone(journals: readonly MemoryJournal[]): void {
    const gone = new Set(journals.map(({ journalId }) => journalId));
    this.#mail = this.#mail.filter(({ journalId }) => !gone.has(journalId));
  }

  [Symbol.dispose](): void {
    this.#news[Symbol.dispose]();
  }

  /** There is mail for which a journal that waits for an answer is to be continued. */
  #isWoken({ journalId, questions }: MemoryJournal, { mailSeen }: MemoryPlaced): boolean {
    return this.#mailOf(journalId).some(({ id, body }) => {
      if (id <= mailSeen) return false;
      return body.kind === "stop" || (isDecided(body) && questions.has(keyOfQuestion(body)));
    });
  }

  #mailOf(journalId: string): Mail[] {
    return this.#mail.filter((mail) => mail.journalId === journalId);
  }

  /** In a microtask: those who listen may want to ask the store themselves. */
  #tell(news: News): void {
    queueMicrotask(() => this.#news.tell(news));
  }
}
