/** The rows of the events as code reads them that does the same for every event, and the versions that follow from them. */

import type { DeltaBody, StoredBody } from "../event.ts";
import { EVENT_STEPS, EVENTS, type Plain } from "./events.ts";
import type { AnyWord } from "./kinds.ts";
import { LIMITS } from "./limits.ts";
import { OUTCOMES, STOP_REASONS } from "./outcomes.ts";

type Body = StoredBody | DeltaBody;

/** The rows of words inside stored events. A new one changes no event from before, so it needs no step. */
const DATED_ROWS = [LIMITS, OUTCOMES, STOP_REASONS].flatMap((rows) => Object.values(rows));

/** The last version that may concern every event. */
const COMMON_VERSION = Math.max(...DATED_ROWS.map(({ since = 1 }) => since), ...Object.keys(EVENT_STEPS).map(Number));

/** A row as code reads it that does the same for every event. */
type AnyRow = {
  readonly since?: number;
  readonly fields: Readonly<Record<string, AnyWord>>;
  readonly varies?: readonly string[] | "event";
  readonly estimated?: readonly string[];
  readonly line?: (event: never, plain: Plain) => string;
  readonly noun?: string | ((event: never) => string);
  readonly stored?: false;
};

export const ROWS: Readonly<Record<Body["type"], AnyRow>> = EVENTS;

/**
 * The version of an event of this type as it is stored: the last one that changed it. Later versions that changed others leave it
 * as it is, so that most rows of a database need no number.
 */
export function versionOf(type: Body["type"]): number {
  return Math.max(COMMON_VERSION, ROWS[type].since ?? 1);
}

/** The types in the order of the table. */
export const EVENT_TYPES: readonly Body["type"][] = Object.keys(EVENTS) as Body["type"][];
export const STORED_TYPES: readonly StoredBody["type"][] = EVENT_TYPES.filter(isStored);

/**
 * The version of events as they are stored and exported. Every change of what is stored makes the next version: a limit, a status,
 * a stop reason, or an event with a new field that may be missing by `since` in its row, anything else by a step. Each version has
 * a golden journal (`test/golden/`). A version without a step changes nothing in the events before it.
 */
export const EVENT_VERSION: number = Math.max(...STORED_TYPES.map(versionOf));

function isStored(type: Body["type"]): type is StoredBody["type"] {
  return ROWS[type].stored !== false;
}

export function nounOf(event: StoredBody): string {
  const { noun = "" } = ROWS[event.type];
  return typeof noun === "string" ? noun : noun(event as never);
}

/** Undefined when the row has no line. */
export function lineOf(event: Body, plain: Plain): string | undefined {
  return ROWS[event.type].line?.(event as never, plain);
}
