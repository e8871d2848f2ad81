/** A cassette: what the models of one run were asked and answered, by agent path, as one JSON file. */

import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { systemPrompt } from "../../core/agent.ts";
import { messageOf, UserError } from "../../core/errors.ts";
import { type Message, textOf } from "../../core/message.ts";
import { isExternalModel, type ModelAnswer } from "../../core/model.ts";
import { isRecord, once } from "../../core/schema.ts";
import type { ModelErrorKind } from "../../core/words/model-errors.ts";
import { kindSchemas, list, maybe, messageSchemas } from "../store/kind-schemas.ts";
import { firstDifference } from "./first-difference.ts";
import { RecordedPrompts } from "./recorded-prompts.ts";
import { partOf, type RecordedReply, type Recording, type RunRecording } from "./recording.ts";

type CassetteStep = (cassette: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/**
 * The steps between the versions of cassettes, as `EVENT_STEPS` has them for stored events: a change of the messages or the usage
 * in them adds one. They run before a cassette is parsed, so a field may hold anything.
 */
const CASSETTE_STEPS: readonly CassetteStep[] = [];

export const CASSETTE_VERSION: number = CASSETTE_STEPS.length + 1;

const cassetteSchema = once(() => {
  const { message } = messageSchemas();
  const { answer, count, finish, modelErrorKind, providerCalls, usage } = kindSchemas();

  const reply = z.union([
    z.strictObject({
      message: answer,
      finish,
      usage: maybe(usage),
      providerCalls: providerCalls.exactOptional(),
    }),
    z.strictObject({ error: z.strictObject({ kind: modelErrorKind, message: z.string() }) }),
  ]);

  const request = z.strictObject({
    instructions: z.string().exactOptional(),
    /** The number of messages of the request before that are kept, its answer included; then `messages` follow. */
    keeps: count,
    messages: list(message),
    reply,
  });

  return z.strictObject({
    format: z.literal("sous-cassette"),
    version: z.literal(CASSETTE_VERSION),
    agent: z.string(),
    model: z.string(),
    task: z.string(),
    /** The requests by agent path, in the order they were asked; follow-ups continue the count. */
    agents: z.record(z.string(), list(request)),
  });
});

export type Cassette = {
  format: "sous-cassette";
  version: number;
  agent: string;
  model: string;
  task: string;
  agents: Record<string, CassetteRequest[]>;
};

export type CassetteRequest = {
  instructions?: string;
  keeps: number;
  messages: readonly Message[];
  reply: CassetteReply;
};

export type CassetteReply = ModelAnswer | { error: { kind: ModelErrorKind; message: string } };

/** More than any test should need. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Throws a `UserError` that says what is wrong with the file. */
export function readCassette(file: string): Cassette {
  const text = readText(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${file} is not a cassette: ${messageOf(cause)}`, { cause });
  }
  if (!isRecord(value) || value.format !== "sous-cassette")
    throw new UserError(`${file} is not a cassette: it does not say that it is one`);
  const parsed = cassetteSchema().safeParse(upgraded(value, file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UserError(`${file} is damaged at ${issue?.path.join(".")}: ${issue?.message}; record it again`);
}

/** The cassette as this version would have written it. */
function upgraded({ version, ...cassette }: Readonly<Record<string, unknown>>, file: string): unknown {
  const from = Number.isSafeInteger(version) ? Number(version) : 0;
  if (from < 1 || from > CASSETTE_VERSION)
    throw new UserError(
      `${file} is a cassette of version ${version}, and this sous plays version ${CASSETTE_VERSION}: record it again`,
    );
  const steps = CASSETTE_STEPS.slice(from - 1);
  return { ...steps.reduce((each, step) => step(each), cassette), version: CASSETTE_VERSION };
}

function readText(file: string): string {
  try {
    const { size } = statSync(file);
    if (size > MAX_BYTES) throw new UserError(`it has ${size} bytes, and the most is ${MAX_BYTES}`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new UserError(`The cassette ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** All of it or nothing: a reader meanwhile sees the old one. */
export function writeCassette(file: string, value: Cassette): void {
  // An unpredictable name, and only where nothing is: a link there would be followed.
  const draft = `${file}.${randomUUID()}.draft`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, `${JSON.stringify(value, undefined, 1)}\n`, { flag: "wx" });
    renameSync(draft, file);
  } catch (cause) {
    throw new UserError(`The cassette ${file} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

/** The requests of a stored run and of everything below it; its paths begin with its own agent, as if it were a root. */
export function toCassette(recording: Recording, runId: string): Cassette {
  const { top, paths } = partOf(recording, runId);
  const { agent, model, task } = top.start;
  const prompts = new RecordedPrompts(recording);
  const agents: Cassette["agents"] = {};
  for (const [path, runs] of paths) {
    const external = runs.find(({ start }) => isExternalModel(start.model));
    if (external !== undefined)
      throw new UserError(
        `The run ${runId} cannot be saved as a cassette: ${external.path} was the work of ${external.start.model}, and a cassette has answers of models only. Play the stored run with sous replay --rerun`,
      );
    agents[path] = requestsOf(runs, prompts);
  }
  return { format: "sous-cassette", version: CASSETTE_VERSION, agent, model, task: textOf(task), agents };
}

function requestsOf(runs: readonly RunRecording[], prompts: RecordedPrompts): CassetteRequest[] {
  const requests: CassetteRequest[] = [];
  const asked = new AskedBefore();
  for (const run of runs) {
    for (const [index, question] of run.questions.entries()) {
      const given = toReply(question.reply);
      // A call without an answer cannot be played.
      if (given === undefined) continue;
      requests.push(asked.next(systemPrompt(run.start), prompts.messages(run, index), given));
    }
  }
  return requests;
}

function toReply(recorded: RecordedReply): CassetteReply | undefined {
  switch (recorded.kind) {
    case "answer": {
      const { message, finish, usage, providerCalls } = recorded.event;
      return { message, finish, usage, providerCalls };
    }
    case "failure": {
      const { kind, message } = recorded.error;
      return { error: { kind, message } };
    }
    case "none":
      return undefined;
    default:
      return recorded satisfies never;
  }
}

/** Histories grow, so a request is written as what is new in it. */
export class AskedBefore {
  #messages: readonly Message[] = [];

  next(instructions: string | undefined, messages: readonly Message[], reply: CassetteReply): CassetteRequest {
    let keeps = 0;
    const most = Math.min(this.#messages.length, messages.length);
    while (keeps < most && firstDifference(this.#messages[keeps], messages[keeps]) === undefined) keeps += 1;
    this.#messages = afterReply(messages, reply);
    return { ...(instructions !== undefined && { instructions }), keeps, messages: messages.slice(keeps), reply };
  }
}

/** The messages that the next request is likely to begin with. */
export function afterReply(messages: readonly Message[], given: CassetteReply): readonly Message[] {
  const isSaid = "message" in given && given.message.content.length > 0;
  return isSaid ? [...messages, given.message] : [...messages];
}
