/** `sous/testing`: a model that follows a script, a world that follows a seed, and checks for what must always be true. */

export { checkMessages, checkRequests } from "./check-messages.ts";
export { checkHistory, type HistoryFacts, openRuns } from "./checker.ts";
export { createFaults, type FaultRates, type Faults } from "./faults.ts";
export type { Answer, Script, ScriptLines, ScriptTurn } from "./script.ts";
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "./scripted-model.ts";
export { between, chance, pick, seededRandom } from "./seeded-random.ts";
export {
  after,
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
} from "./steps.ts";
export { type RegisterTest, storeContract } from "./store-contract.ts";
export { VirtualClock } from "./virtual-clock.ts";
export { createWorld, type World, type WorldOptions, WorldStuck } from "./world.ts";
