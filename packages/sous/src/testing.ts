/** `sous/testing`: a model that follows a script, a world that follows a seed, and checks for what must always be true. */

export { type CassetteOptions, cassetteModel, saveCassette, scriptFromCassette } from "./cassette.ts";
export type { Clock, Host } from "./core/clock.ts";
export type { CassetteModel } from "./replay/cassette-model.ts";
export type { PlayOptions } from "./replay/cassette-player.ts";
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
export { between, chance, pick, seededRandom } from "./testing/seeded-random.ts";
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
export { createWorld, type World, type WorldOptions, WorldStuck } from "./testing/world.ts";
