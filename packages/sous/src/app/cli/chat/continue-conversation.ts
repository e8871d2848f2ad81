/** Opens a stored conversation in place of the current one: shows where it stands, and continues what was interrupted. */

import type { RunResult } from "../../../core/runtime.ts";
import type { CancelMode } from "../../../core/spawn.ts";
import type { RunRecord } from "../../../core/store.ts";
import { canResume } from "../../../core/words/outcomes.ts";
import type { Application } from "../application/open.ts";
import { CommandError } from "../exit-codes.ts";
import { folderNote } from "../stored/find-run.ts";
import { inertLine } from "../terminal/text.ts";
import type { CommandScene } from "./slash-commands.ts";
import {
  earlierLines,
  findConversation,
  type ListedChat,
  listChats,
  readConversation,
  type StoredChat,
} from "./stored-conversation.ts";

/** `say` shows how the conversation stands. */
type ContinuingParts = Omit<CommandScene, "columns" | "earlier"> & {
  /** The folder whose conversations these are. */
  readonly cwd: string;
  columns(): number;
};

export class EarlierChats {
  readonly #parts: ContinuingParts;
  /** The list as it was shown last: a number means the same until the next list. */
  #listed: readonly ListedChat[] | undefined;
  #opening: Promise<boolean> | undefined;
  /** The cancel that was asked for while a run is being opened. */
  #asked: CancelMode | "leave" | undefined;

  constructor(parts: ContinuingParts) {
    this.#parts = parts;
  }

  /** A conversation is being read. Resolves with false when it could not be continued. */
  get opening(): Promise<boolean> | undefined {
    return this.#opening;
  }

  /** The newest ones, numbered as they are shown from now on. */
  async list(): Promise<readonly ListedChat[]> {
    this.#listed = await listChats(this.#store(), this.#parts.cwd, this.#parts.application.agent.name);
    return this.#listed;
  }

  /** Returns the list that was shown last, or reads it. */
  async known(): Promise<readonly ListedChat[]> {
    return this.#listed ?? this.list();
  }

  /** `1`, `last` or an id; with `--here` also one of another folder, which continues in this one. */
  async find(given: string): Promise<RunRecord> {
    const words = given.split(/\s+/).filter((word) => word !== "");
    const names = words.filter((word) => word !== "--here");
    const [name, more] = names;
    if (name === undefined || more !== undefined)
      throw new CommandError("/resume takes a number of the list, an ID, or last, and --here");
    return findConversation(this.#store(), name, name === "last" ? await this.list() : await this.known(), {
      cwd: this.#parts.cwd,
      agent: this.#parts.application.agent.name,
      elsewhere: names.length < words.length ? "take" : "refuse",
      takenBy: (id) => `/resume ${id} --here`,
    });
  }

  /**
   * Resolves when a run has ended that was interrupted, or at once when there is none. A message that is typed meanwhile waits
   * until it is known which run it is for.
   */
  async continueWith(record: RunRecord): Promise<RunResult | undefined> {
    const opened = Promise.withResolvers<boolean>();
    this.#opening = opened.promise;
    this.#asked = undefined;
    let run: { result: Promise<RunResult> } | undefined;
    try {
      run = this.#begin(await this.#open(record));
      opened.resolve(true);
    } catch (error) {
      opened.resolve(false);
      throw error;
    } finally {
      this.#opening = undefined;
    }
    try {
      return await run?.result;
    } catch (error) {
      // It never began, so this is another conversation, in which nothing has run.
      this.#parts.transcript.startOver([]);
      throw error;
    }
  }

  /** Begins at once: what is typed next is for this conversation. The result is in an object, so that it is not awaited here. */
  #begin(stored: StoredChat): { result: Promise<RunResult> } | undefined {
    const { conversation } = this.#parts;
    const isLeft = canResume(stored.last.status);
    if (!isLeft) conversation.resumeFrom(stored);
    if (!isLeft || this.#asked === "leave") return undefined;
    const result = conversation.resumeInterrupted(stored);
    if (this.#asked !== undefined) conversation.cancel(undefined, this.#asked);
    return { result };
  }

  /** Asks this of what is being opened, as soon as it runs. `leave` does not begin it. False when nothing is being opened. */
  ask(what: CancelMode | "leave"): boolean {
    if (this.#opening === undefined) return false;
    this.#asked = what;
    return true;
  }

  async #open(record: RunRecord): Promise<StoredChat> {
    const { conversation, transcript, cwd, say, columns, style } = this.#parts;
    const stored = await readConversation(this.#store(), record);
    const { last, messages, events } = stored;
    if (last.status === "running") throw new CommandError(`Another process works on ${inertLine(last.id, 60)}`);
    await conversation.endCommands();
    const note = folderNote(last, { cwd });
    if (note !== undefined) say([note]);
    transcript.startOver(events);
    const isInterrupted = canResume(last.status);
    const how = isInterrupted ? "Continuing, where it was interrupted" : "Continuing";
    say([`${how}: ${inertLine(messages[0]?.text ?? last.task, 200)}`, ...earlierLines(stored, columns(), style)]);
    return stored;
  }

  #store(): NonNullable<Application["store"]> {
    const { store } = this.#parts.application;
    if (store === undefined) throw new CommandError("Nothing is stored here, so there is nothing to continue");
    return store;
  }
}
