/** `sous/engine`: trees over several workers. */

export type {
  Engine,
  JournalState,
  Mail,
  MailBody,
  NewMail,
  News,
  Placing,
  PlacingStore,
  TakenJournal,
  WorkerFacts,
  WorkerState,
} from "./core/engine.ts";
export type { WorkOnOptions } from "./runtime/tree/placing/placing-half.ts";
export { type StoreEngineOptions, storeEngine } from "./runtime/tree/placing/store-engine.ts";
export type { SubmittedRun } from "./runtime/tree/placing/submit.ts";
export type { WorkEnd } from "./runtime/tree/placing/work-on.ts";
export type { Worker, WorkerNews, WorkerOptions } from "./runtime/tree/placing/worker.ts";
