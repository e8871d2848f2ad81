/**
 * Facts that the wire shows of one attempt beside its answer. `fetch` and the adapters of providers know an attempt only by its
 * signal, so that is the key. Read for the bill of an attempt that was cut.
 */

import type { ProviderCalls } from "../../core/model.ts";
import type { StreamCheck } from "./body-check.ts";

export type WireFacts = {
  /** The body, once the server has begun to answer: from then on it bills the prompt. */
  readonly body?: StreamCheck;
  /** The error of a body that broke off. For the adapter the body has ended, so that all that arrived is read. */
  readonly broken?: unknown;
  /** The model may think, or write calls, without a sign of it before they are whole. */
  readonly hidesOutput?: boolean;
  /** Bytes that the provider has read during its answer: the results of its own tools. */
  readonly readBytes?: number;
  /** Counts the calls that the provider has made by itself so far. */
  readonly countCalls?: () => ProviderCalls | undefined;
};

const known = new WeakMap<AbortSignal, WireFacts>();
const NONE: WireFacts = {};

export function noteFacts(signal: AbortSignal, facts: WireFacts): void {
  known.set(signal, { ...known.get(signal), ...facts });
}

export function factsOf(signal: AbortSignal): WireFacts {
  return known.get(signal) ?? NONE;
}
