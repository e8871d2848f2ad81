/** Errors, sorted by who must hear. An ending of a run is not an error but an outcome (`outcome.ts`). */

import { isTriedAgain, type ModelErrorKind } from "./words/model-errors.ts";

/** An error for the model: becomes the failed result of a tool call. The message says what to try next. */
export class ToolFailure extends Error {
  override name = "ToolFailure";
}

/**
 * Thrown by a tool before it has done anything: the person must allow the call first, whatever rules allow, because of something
 * the tool has found out by itself. When they do, `onAllow` is called and the tool is called once more.
 */
export class ApprovalNeeded extends ToolFailure {
  override name = "ApprovalNeeded";
  readonly onAllow: () => void | Promise<void>;

  constructor(reason: string, onAllow: () => void | Promise<void>) {
    super(reason);
    this.onAllow = onAllow;
  }
}

/** An error for the person who runs the program: printed without a stack. */
export class UserError extends Error {
  override name = "UserError";
}

/** A model cannot be asked, because its key is missing. */
export class MissingKey extends UserError {
  override name = "MissingKey";
}

/** The cost of a model could not be counted, and a limit in USD must hold. */
export class UnpricedModel extends UserError {
  override name = "UnpricedModel";

  constructor(modelId: string) {
    super(
      `The model ${modelId} has no price, and this run has a limit in USD: name another model, or set prices.${modelId} in the configuration (models.prices in code)`,
    );
  }
}

/** The cost of a provider's tool is not known, and a limit in USD must hold. */
export class UnpricedTool extends UserError {
  override name = "UnpricedTool";

  constructor(toolName: string, toolId: string) {
    super(
      `What one call of the tool ${toolName} (${toolId}) costs is not known, and this run has a limit in USD: leave the tool out, or set calls[${JSON.stringify(toolId)}] in models.prices for its model`,
    );
  }
}

/** The cost of an external agent is not limited, and a limit in USD must hold. */
export class UncappedAgent extends UserError {
  override name = "UncappedAgent";

  constructor(serverName: string) {
    super(
      `The agent ${serverName} could cost anything, and this run has a limit in USD: set agent_servers.${serverName}.max_cost to the USD that one prompt may cost`,
    );
  }
}

/** The closed set of reasons a child can fail for; metrics and refusals use the same words. */
export type ErrorType =
  | "depth_limit"
  | "invalid_input"
  | "quota"
  | "timeout"
  | "cancelled"
  | "refused"
  | "consent"
  | "model"
  | "tool"
  | "crash"
  | "store";

const ALL_ERROR_TYPES: Readonly<Record<ErrorType, true>> = {
  depth_limit: true,
  invalid_input: true,
  quota: true,
  timeout: true,
  cancelled: true,
  refused: true,
  consent: true,
  model: true,
  tool: true,
  crash: true,
  store: true,
};

/** Every `ErrorType`, in the order of the type. */
export const ERROR_TYPES = Object.keys(ALL_ERROR_TYPES) as readonly ErrorType[];

/** A provider's failure, told apart so that the runtime knows whether to wait, prune or give up. */
export class ModelError extends Error {
  override name = "ModelError";
  readonly kind: ModelErrorKind;
  /** The time that the provider asks all callers to wait. */
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  /** True when the model had begun to answer, in text or in a tool call, or may have: the attempt is billed. */
  readonly afterOutput: boolean;

  constructor(
    kind: ModelErrorKind,
    message: string,
    details: {
      cause?: unknown;
      retryAfterMs?: number | undefined;
      status?: number | undefined;
      afterOutput?: boolean | undefined;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.afterOutput = details.afterOutput ?? false;
  }

  get isRetryable(): boolean {
    return isTriedAgain(this.kind);
  }
}

/** A store that could not keep what it was given. Ends the run as `failed` when the store is required. */
export class StoreError extends Error {
  override name = "StoreError";
}

/** Another process has taken over the tree: what this one writes would corrupt the order of events. */
export class StaleOwner extends StoreError {
  override name = "StaleOwner";
}

/** The amounts of a refused call or child and of the limit: `used` is the sum of the three. */
type Shortage = { spent: number; reserved: number; asked: number; isStart: boolean };

/** The limit of a budget that was reached, with the sentence people rely on (`Token limit exceeded: 10450/10000`). */
export class BudgetExceeded extends Error {
  override name = "BudgetExceeded";
  readonly limit: "executions" | "tokens" | "costUsd" | "durationMs";

  constructor(limit: BudgetExceeded["limit"], used: number, allowed: number, shortage?: Shortage) {
    super(budgetSentence(limit, used, allowed) + (shortage === undefined ? "" : shortageWords(limit, shortage)));
    this.limit = limit;
  }

  /** Makes the error again from a sentence that was recorded before. */
  static inWords(sentence: string): BudgetExceeded {
    const error = new BudgetExceeded("tokens", 0, 0);
    error.message = sentence;
    return error;
  }
}

function budgetSentence(limit: BudgetExceeded["limit"], used: number, allowed: number): string {
  switch (limit) {
    case "executions":
      return `Execution limit reached: ${used}/${allowed}`;
    case "tokens":
      // A call that would still fit is refused when others came first and wait for more.
      return used > allowed ? `Token limit exceeded: ${used}/${allowed}` : `Token limit reached: ${used}/${allowed}`;
    case "costUsd": {
      const [all, most] = [`$${used.toFixed(4)}`, `$${allowed.toFixed(4)}`];
      return used > allowed ? `Cost limit exceeded: ${all}/${most}` : `Cost limit reached: ${all}/${most}`;
    }
    case "durationMs": {
      // A timer is always a little late: that is not another second.
      const seconds = Math.max(Math.round(used / 1000), Math.ceil(allowed / 1000));
      return `Time limit exceeded: ${seconds}s/${allowed / 1000}s`;
    }
    default:
      return limit satisfies never;
  }
}

/** Says that it was refused before anything was spent on it. */
function shortageWords(limit: BudgetExceeded["limit"], { spent, reserved, asked, isStart }: Shortage): string {
  const [was, held, wanted] = [spent, reserved, asked].map((each) =>
    limit === "costUsd" ? `$${each.toFixed(4)}` : String(each),
  );
  return ` (spent ${was}, reserved ${held}, asked ${wanted}: ${isStart ? "it was not started" : "the call was not made"})`;
}

/** The thrown value in words. Anything can be thrown, also what has none. */
export function messageOf(error: unknown): string {
  try {
    const hasMessage = typeof error === "object" && error !== null && "message" in error;
    return hasMessage && typeof error.message === "string" ? error.message : String(error);
  } catch {
    return "[object Object]";
  }
}

/** `ENOENT` and the like; undefined for an error that is not one of the system or of Node. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** The result, or undefined when the system refuses the work. Other errors are thrown. */
export function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) !== undefined) return undefined;
    throw error;
  }
}

/** The stack, for a developer; undefined when it does not say. */
export function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error && typeof error.stack === "string" ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

/** A spawn that the gate turned away: no child was made and nothing was spent. */
export class Refused extends Error {
  override name = "Refused";
  readonly errorType: ErrorType;

  constructor(errorType: ErrorType, message: string) {
    super(message);
    this.errorType = errorType;
  }
}

/** The text that the model may read; anything else is a fault of ours and goes up. */
export function toRefusal(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof BudgetExceeded) return new Refused("quota", error.message);
  if (error instanceof ToolFailure) return new Refused("quota", error.message);
  if (error instanceof UserError) return new Refused("invalid_input", messageOf(error));
  return undefined;
}

/** The defaults, replaced by what was given. A setting that is undefined was not given. */
export function withDefaults<Settings extends object>(
  defaults: Settings,
  ...given: (Partial<Settings> | undefined)[]
): Settings {
  const settings = { ...defaults };
  for (const each of given) {
    const said = Object.entries(each ?? {}).filter(([, value]) => value !== undefined);
    Object.assign(settings, Object.fromEntries(said));
  }
  return settings;
}

export function checkWhole(name: string, found: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(found) && Number(found) >= least && Number(found) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `between ${least} and ${most}`;
  throw new UserError(`${name} must be a whole number ${range}; found ${inWords(found)}`);
}

export function checkWord(name: string, found: unknown, allowed: readonly string[]): void {
  if (allowed.some((word) => word === found)) return;
  const words = allowed.map((word) => JSON.stringify(word)).join(" or ");
  throw new UserError(`${name} must be ${words}; found ${inWords(found)}`);
}

/** Milliseconds since 1970. */
export function checkTime(name: string, found: unknown): void {
  if (!Number.isFinite(found)) throw new UserError(`${name} must be milliseconds since 1970; found ${inWords(found)}`);
}

function inWords(found: unknown): string {
  return typeof found === "string" ? JSON.stringify(found) : String(found);
}

/** Does nothing, for `.catch`: the failure is handled elsewhere. */
export function ignore(): void {}

/** The words for what was given instead of what was expected. A function would show its source. */
export function foundWords(found: unknown): string {
  if (found instanceof Promise) return "a promise, which must be awaited first,";
  if (Array.isArray(found)) return "a list";
  if (typeof found === "object") return found === null ? "null" : "an object";
  return typeof found === "function" || typeof found === "symbol" ? `a ${typeof found}` : String(found);
}
