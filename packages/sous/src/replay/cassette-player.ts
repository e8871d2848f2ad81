/** Plays a cassette request by request. A prompt that is not the recorded one is reported. */

import { ModelError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ModelAnswer, ModelRequest } from "../core/model.ts";
import { NO_REDACTION, type Redactor } from "../core/redactor.ts";
import { afterReply, type Cassette, type CassetteReply, type CassetteRequest } from "./cassette.ts";
import { differenceInWords } from "./first-difference.ts";
import { IdMap } from "./id-map.ts";
import { comparePrompts, promptDifferenceInWords } from "./recorded-prompts.ts";

/** How strictly prompts are compared with the recorded ones. */
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

  /** The recorded reply at this place, in the ids of the run that asks. Throws a `ModelError` for another prompt. */
  play(request: ModelRequest, place: number): CassetteReply {
    const played = this.#agents.get(request.caller.path)?.[place];
    if (played === undefined) throw this.#mismatch(request, place, "there is no such answer");
    const ids = this.idsOf(request);
    const found = this.#redactor.value(request.messages);
    for (const [index, message] of played.messages.entries()) learnIds(message, found[index], ids);
    if (this.#isStrict) this.#check(request, place, played, ids);
    return "error" in played.reply ? played.reply : ids.toActual(played.reply);
  }

  #check(request: ModelRequest, place: number, { instructions, messages }: PlayedRequest, ids: IdMap): void {
    const found = ids.toRecorded(this.#redactor.value(request.instructions));
    if (found !== instructions) {
      const words = differenceInWords({ expected: instructions, found });
      throw this.#mismatch(request, place, `the instructions are not the recorded ones: ${words}`);
    }
    const difference = comparePrompts(messages, this.#redactor.value(request.messages), ids);
    if (difference !== undefined) {
      const words = promptDifferenceInWords(difference);
      throw this.#mismatch(request, place, `the prompt is not the recorded one: ${words}`);
    }
  }

  #mismatch({ caller }: ModelRequest, place: number, why: string): ModelError {
    return new ModelError("invalid_request", `${this.#file}, request ${place + 1} of ${caller.path}: ${why}`);
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

/** The answer of a reply. Throws the error that it is instead. */
export function answerOf(reply: CassetteReply): ModelAnswer {
  if ("error" in reply) throw new ModelError(reply.error.kind, reply.error.message, { retryAfterMs: 0 });
  return { message: reply.message, finish: reply.finish, usage: reply.usage };
}

/** What stands in the place of an id of the recording is that id in this run. */
function learnIds(recorded: Message, actual: Message | undefined, ids: IdMap): void {
  const texts = textsOf(recorded);
  const others = actual === undefined ? [] : textsOf(actual);
  for (const [index, text] of texts.entries()) ids.learn(text, others[index] ?? "");
}

function textsOf(message: Message): string[] {
  return message.content.map((part) => (part.type === "tool-result" ? part.output : "text" in part ? part.text : ""));
}
