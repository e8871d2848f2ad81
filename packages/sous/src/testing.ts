/** `sous/testing`: a model that follows a script, a world that follows a seed, and checks for what must always be true. */

export { type CassetteOptions, cassetteModel, saveCassette, scriptFromCassette } from "./cassette.ts";
export type { Clock, Host } from "./core/clock.ts";
export type { CassetteModel, PlayOptions } from "./replay/cassette-model.ts";
export { checkMessages, checkRequests } from "./testing/check-messages.ts";
export { checkHistory, type HistoryFacts, openRuns } from "./testing/checker.ts";
export { createFaults, type FaultRates, type Faults } from "./testing/faults.ts";
export type { Answer, Script, ScriptLines, ScriptTurn } from "./testing/script.ts";
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "./testing/scripted-model.ts";
export {
  after,
  answers,
  calls,
  cuts,
  fails,
  hangs,
  refuses,
  reportsNoUsage,
  type ScriptedUsage,
  type Step,
  says,
  stopsAtLength,
  streams,
  thinks,
  uses,
} from "./testing/steps.ts";
export { type RegisterTest, storeContract } from "./testing/store-contract.ts";
export { VirtualClock } from "./testing/virtual-clock.ts";
export {
  between,
  chance,
  createWorld,
  pick,
  seededRandom,
  type World,
  type WorldOptions,
  WorldStuck,
} from "./testing/world.ts";
