/** `sous/testing`: a model that follows a script, a world that follows a seed, and checks for what must always be true. */

export { type CassetteOptions, cassetteModel, saveCassette, scriptFromCassette } from "./cassette.ts";
export type { CassetteModel, PlayOptions } from "./storage/replay/cassette-model.ts";
export { checkHistory, type HistoryFacts } from "./testing/checker.ts";
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "./testing/scripted-model.ts";
export type { Answer, Script, ScriptLines, ScriptTurn } from "./testing/steps.ts";
export {
  after,
  answers,
  beginsCall,
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
  thinksUnseen,
  uses,
} from "./testing/steps.ts";
export { type RegisterTest, storeContract } from "./testing/store-contract.ts";
export { createWorld, type World, type WorldOptions } from "./testing/world.ts";
