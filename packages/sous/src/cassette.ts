/** Cassettes as a test uses them: any stored run saved as one, and a model that plays it or asks a real one and records. */

import { MODEL, type ModelChoice } from "./core/agent.ts";
import type { ModelRequest } from "./core/model.ts";
import { type OptionKinds, objectOf, wordOf } from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import type { Store } from "./core/store.ts";
import { systemHost } from "./machine/host.ts";
import { fromAiSdk, isForeignModel } from "./runtime/model/ai-sdk.ts";
import { modelCache } from "./runtime/model/resolve.ts";
import { redactorFor } from "./runtime/tree/redaction.ts";
import { readCassette, toCassette, writeCassette } from "./storage/replay/cassette.ts";
import {
  answerOf,
  type CassetteModel,
  CassettePlayer,
  type PlayOptions,
  playOrRecord,
} from "./storage/replay/cassette-model.ts";
import { readRecording } from "./storage/replay/recording.ts";
import { answers, type Script } from "./testing/steps.ts";

/** The options of a cassette that is played or recorded. */
export type CassetteOptions = PlayOptions & {
  /** The model that is asked for what the cassette does not have; its answers are written down. Never asked when `CI` is set. */
  record?: ModelChoice | undefined;
  /** The variables of the process when unset. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
};

const PLAY_OPTIONS: OptionKinds<PlayOptions> = { match: wordOf("prompt", "turn") };
const CASSETTE_OPTIONS: OptionKinds<CassetteOptions> = { ...PLAY_OPTIONS, record: MODEL, environment: objectOf() };

/** Saves a stored run, with everything below it, as a cassette. Texts are as they were stored, without secrets. */
export async function saveCassette(
  store: Pick<Store, "read" | "run">,
  runId: string,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  const cassette = toCassette(await readRecording(store, runId, signal), runId);
  writeCassette(file, redactorFor(systemHost()).value(cassette));
}

/**
 * A model that gives the answers of a cassette, by agent path and turn. With `record` a missing one is made from a real
 * model's answers and written when the model is disposed or saved. Throws a `UserError` when there is nothing to play.
 */
export function cassetteModel(file: string, options: CassetteOptions = {}): CassetteModel {
  checkOptions("cassetteModel()", options, CASSETTE_OPTIONS);
  const { record, match, environment = process.env } = options;
  return playOrRecord(file, {
    match,
    environment,
    redactor: redactorFor(systemHost({ environment })),
    record: record === undefined ? undefined : { id: idOf(record), open: () => modelCache(environment)(record) },
  });
}

/** The script of a cassette: `scriptedModel(scriptFromCassette(file))` gives its answers, without network and without a key. */
export function scriptFromCassette(file: string, options: PlayOptions = {}): Script {
  checkOptions("scriptFromCassette()", options, PLAY_OPTIONS);
  const player = new CassettePlayer(readCassette(file), file, options);
  const turn = (index: number) => (request: ModelRequest) =>
    answers(answerOf(player.play(request, index), index + 1 === player.length(request.caller.path)));
  const turnsOf = (path: string) => Array.from({ length: player.length(path) }, (_, index) => turn(index));
  return Object.fromEntries(player.paths.map((path) => [path, turnsOf(path)]));
}

/** Names a model without loading its provider. */
function idOf(choice: ModelChoice): string {
  if (typeof choice === "string") return choice;
  return isForeignModel(choice) ? fromAiSdk(choice).id : choice.id;
}
