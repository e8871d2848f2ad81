/** A model that plays a cassette, and records one where there is none yet. In CI it only plays. */

import { existsSync } from "node:fs";
import { NO_REDACTION, type Redactor } from "../../core/clean-text.ts";
import { ModelError, messageOf, UserError } from "../../core/errors.ts";
import { type Message, textOf } from "../../core/message.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../../core/model.ts";
import {
  AskedBefore,
  afterReply,
  CASSETTE_VERSION,
  type Cassette,
  type CassetteReply,
  type CassetteRequest,
  readCassette,
  writeCassette,
} from "./cassette.ts";
import { IdMap } from "./id-map.ts";
import { requestDifference } from "./recorded-prompts.ts";

/** A model that plays a cassette. */
export type CassetteModel = Model &
  AsyncDisposable & {
    /** Writes what was recorded since; disposing the model does the same. */
    save(): Promise<void>;
  };

type CassetteModelParts = PlayOptions & {
  /** Answers what the cassette does not; when unset such a call fails. */
  record?: { id: string; open(): Model | Promise<Model> } | undefined;
  /** `CI` in it means: play only. */
  environment: Readonly<Record<string, string | undefined>>;
  redactor?: Redactor | undefined;
};

/** Throws a `UserError` when there is no cassette and no model to record one. */
export function playOrRecord(file: string, parts: CassetteModelParts): CassetteModel {
  const { record, environment, redactor = NO_REDACTION } = parts;
  const isCi = environment.CI !== undefined && !/^(?:|0|false)$/i.test(environment.CI);
  const mayRecord = record !== undefined && !isCi;
  const stored = existsSync(file) ? readCassette(file) : undefined;
  if (stored === undefined && !mayRecord) throw new UserError(`There is no cassette at ${file}. ${howToRecord(parts)}`);
  const player = stored && new CassettePlayer(stored, file, parts, redactor);
  const recorder = mayRecord ? new Recorder(stored, record.id) : undefined;
  const asked = new Map<string, number>();
  let opening: Promise<Model> | undefined;

  async function answer(request: ModelRequest, onDelta: OnDelta): Promise<ModelAnswer> {
    const { agentId, path } = request.caller;
    const index = asked.get(agentId) ?? 0;
    asked.set(agentId, index + 1);
    if (player !== undefined && index < player.length(path)) return play(player, request, index, onDelta);
    if (record === undefined || recorder === undefined) {
      const message = `${file} has no answer ${index + 1} for ${path}. ${howToRecord(parts)}`;
      throw new ModelError("invalid_request", message);
    }
    opening ??= Promise.resolve(record.open());
    const words = player?.idsOf(request);
    const keep = (given: CassetteReply) => recorder.add(request, words?.toRecorded(given) ?? given, words);
    try {
      const answered = await (await opening).answer(request, onDelta);
      const { message, finish, usage, providerCalls } = answered;
      keep({ message, finish, usage, providerCalls });
      return answered;
    } catch (error) {
      if (error instanceof ModelError) keep({ error: { kind: error.kind, message: error.message } });
      throw error;
    }
  }

  function play(from: CassettePlayer, request: ModelRequest, index: number, onDelta: OnDelta): ModelAnswer {
    const isLast = index + 1 === from.length(request.caller.path);
    const played = answerOf(replyFor(from, request, index), isLast);
    for (const part of played.message.content)
      if (part.type === "text" || part.type === "reasoning") onDelta(part.type, part.text);
    return played;
  }

  function replyFor(from: CassettePlayer, request: ModelRequest, index: number): CassetteReply {
    try {
      return from.play(request, index);
    } catch (cause) {
      throw new ModelError("invalid_request", `${messageOf(cause)}. ${howToRecordAgain(parts, isCi)}`, { cause });
    }
  }

  const save = async () => {
    const recorded = recorder?.take();
    if (recorded !== undefined) writeCassette(file, redactor.value(recorded));
  };
  const id = stored?.model ?? record?.id ?? "cassette/model";
  return { id, takesProviderTool: () => true, answer, save, [Symbol.asyncDispose]: save };
}

/** Advice about a cassette that is missing or too short. */
function howToRecord({ record }: CassetteModelParts): string {
  if (record === undefined) return "Give cassetteModel a model to record, or save a stored run with saveCassette.";
  return "CI only plays: run it once where CI is not set, and commit the file.";
}

/** Advice about one that does not fit any more. */
function howToRecordAgain({ record }: CassetteModelParts, isCi: boolean): string {
  if (record === undefined) return "To record it again, save a stored run with saveCassette.";
  return `To record it again, delete the file${isCi ? " and run it where CI is not set" : " and run it once more"}.`;
}

/** Collects what was asked and answered, behind what the cassette has already. */
class Recorder {
  readonly #cassette: Cassette;
  readonly #before = new Map<string, AskedBefore>();
  #isChanged = false;
  #isNew: boolean;

  constructor(stored: Cassette | undefined, model: string) {
    this.#isNew = stored === undefined;
    const empty = { agent: "", model, task: "", agents: {} };
    this.#cassette = stored ?? { format: "sous-cassette", version: CASSETTE_VERSION, ...empty };
  }

  add(request: ModelRequest, reply: CassetteReply, ids: IdMap | undefined): void {
    const { path, agentId, depth } = request.caller;
    const before = this.#before.get(agentId) ?? new AskedBefore();
    this.#before.set(agentId, before);
    const asked = ids?.toRecorded(request.messages) ?? request.messages;
    const [first] = asked;
    if (this.#isNew && depth === 0 && first?.role === "user") {
      this.#cassette.agent = path;
      this.#cassette.task = textOf(first);
      this.#isNew = false;
    }
    const requests = this.#cassette.agents[path] ?? [];
    this.#cassette.agents[path] = requests;
    requests.push(before.next(request.instructions, [...asked], reply));
    this.#isChanged = true;
  }

  /** The cassette, when there is anything new in it. */
  take(): Cassette | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    return this.#cassette;
  }
}

/** The strictness with which prompts are compared with the recorded ones. */
export type PlayOptions = {
  /** `prompt` (the default) refuses a request that is not the recorded one; `turn` plays whatever it is asked. */
  match?: "prompt" | "turn" | undefined;
};

export class CassettePlayer {
  readonly #agents = new Map<string, readonly PlayedRequest[]>();
  readonly #file: string;
  readonly #isStrict: boolean;
  readonly #redactor: Redactor;
  /** Each agent learns the ids it reads: those of its children are other ones in every run. */
  readonly #ids = new Map<string, IdMap>();

  constructor(cassette: Cassette, file: string, { match = "prompt" }: PlayOptions, redactor: Redactor = NO_REDACTION) {
    this.#file = file;
    this.#isStrict = match === "prompt";
    this.#redactor = redactor;
    for (const [path, requests] of Object.entries(cassette.agents)) this.#agents.set(path, withMessages(requests));
  }

  get paths(): string[] {
    return [...this.#agents.keys()];
  }

  length(path: string): number {
    return this.#agents.get(path)?.length ?? 0;
  }

  /** The ids that an agent has learned so far. */
  idsOf({ caller }: ModelRequest): IdMap {
    const known = this.#ids.get(caller.agentId) ?? new IdMap();
    this.#ids.set(caller.agentId, known);
    return known;
  }

  /** The recorded reply with this index, in the ids of the run that asks. Throws a `ModelError` for another prompt. */
  play(request: ModelRequest, index: number): CassetteReply {
    const played = this.#agents.get(request.caller.path)?.[index];
    if (played === undefined) throw this.#mismatch(request, index, "there is no such answer");
    const ids = this.idsOf(request);
    const found = this.#redactor.value(request.messages);
    for (const [index, message] of played.messages.entries()) learnIds(message, found[index], ids);
    const difference = this.#isStrict
      ? requestDifference(played, { instructions: this.#redactor.value(request.instructions), messages: found }, ids)
      : undefined;
    if (difference !== undefined) throw this.#mismatch(request, index, difference);
    return "error" in played.reply ? played.reply : ids.toActual(played.reply);
  }

  #mismatch({ caller }: ModelRequest, index: number, why: string): ModelError {
    return new ModelError("invalid_request", `${this.#file}, request ${index + 1} of ${caller.path}: ${why}`);
  }
}

type PlayedRequest = { instructions: string | undefined; messages: readonly Message[]; reply: CassetteReply };

function withMessages(requests: readonly CassetteRequest[]): PlayedRequest[] {
  let before: readonly Message[] = [];
  return requests.map(({ instructions, keeps, messages, reply }) => {
    const whole = [...before.slice(0, keeps), ...messages];
    before = afterReply(whole, reply);
    return { instructions, messages: whole, reply };
  });
}

/** The answer of a reply. Throws the error that it is instead; the last one was not followed by another attempt. */
export function answerOf(reply: CassetteReply, isLast: boolean): ModelAnswer {
  if (!("error" in reply)) return reply;
  const { kind, message } = reply.error;
  throw isLast ? new LastError(kind, message) : new ModelError(kind, message, { retryAfterMs: 0 });
}

class LastError extends ModelError {
  override get isRetryable(): boolean {
    return false;
  }
}

/** The text where the recording has an id is that id in this run. */
function learnIds(recorded: Message, actual: Message | undefined, ids: IdMap): void {
  const texts = textsOf(recorded);
  const others = actual === undefined ? [] : textsOf(actual);
  for (const [index, text] of texts.entries()) ids.learn(text, others[index] ?? "");
}

function textsOf(message: Message): string[] {
  return message.content.map((part) => (part.type === "tool-result" ? part.output : "text" in part ? part.text : ""));
}
