/**
 * The names by which metrics and spans show models. A call can name a model that does not exist, and every name would be one more
 * series for ever: a model that is neither priced nor configured is `other`.
 */

import type { EventOf, ResumedRun, RunIdentity } from "../../core/event.ts";
import { isExternalModel, withoutVersion } from "../../core/model.ts";
import { askedModels } from "../../core/spawn.ts";
import type { RunTally } from "../../core/totals.ts";
import { OTHER } from "./label-cap.ts";

/** The models that are known before any run, besides those that roots and definitions are found to have. */
export type KnownModels = {
  /** Configured: shown by their names, also when a call chooses one. */
  readonly models?: readonly string[] | undefined;
  /** The name under which the shipped table has the price of a model, without its version. Unset, the runs say what had a price. */
  readonly pricedName?: ((model: string) => string | undefined) | undefined;
};

type Named = Pick<EventOf<"run-start">, "model">;

/** A live run that was heard from its start. */
type HeardRun = Named & {
  /** The name by which its model is shown. */
  readonly name: string;
  /** The calls of it that name models. */
  readonly calls: Map<string, ReturnType<typeof askedModels>>;
};

/** More names than this are not remembered, nor more calls of one run that name some. */
const MAX_NAMES = 1000;

/** One for each fold. */
export class ModelNames {
  readonly #known: Set<string>;
  readonly #pricedName: KnownModels["pricedName"];
  readonly #heard = new Map<string, HeardRun>();

  constructor({ models = [], pricedName }: KnownModels = {}) {
    this.#known = new Set(models);
    this.#pricedName = pricedName;
  }

  called({ runId, callId, toolName, input }: EventOf<"tool-call-start">): void {
    const calls = this.#heard.get(runId)?.calls;
    const asked = calls === undefined ? [] : askedModels(toolName, input);
    if (asked.every((model) => model === undefined)) return;
    if (calls?.size === MAX_NAMES) this.#heard.delete(runId);
    else calls?.set(callId, asked);
  }

  started(start: EventOf<"run-start">): string {
    const name = this.#nameAtStart(start);
    this.#heard.set(start.runId, { model: start.model, name, calls: new Map() });
    return name;
  }

  #nameAtStart({ parentId, model, price, call, origin }: EventOf<"run-start">): string {
    if (parentId === null) return this.chosen({ model });
    const parent = this.#heard.get(parentId);
    const isAsked = call !== undefined && parent?.calls.get(call.callId)?.[call.index] !== undefined;
    // The model of a child that runs once more may be from a call of another process.
    if (parent === undefined || isAsked || origin?.kind === "follow-up")
      return this.#nameOf(model, price !== undefined);
    return model === parent.model ? parent.name : this.chosen({ model });
  }

  /** The calls of a run that another process began are not known. */
  resumed({ parentId }: RunIdentity, { model }: Pick<ResumedRun, "model">): string {
    return parentId === null ? this.chosen({ model }) : this.#nameOf(model, false);
  }

  ended({ runId }: RunIdentity): void {
    this.#heard.delete(runId);
  }

  /** A run that is over. Its cost tells whether it had a price, where it has used anything. */
  stored({ model, costUsd, usage }: RunTally): string {
    return this.#nameOf(model, costUsd !== null && usage.totalTokens > 0);
  }

  /** Chosen by a person or a program. */
  chosen({ model }: Named): string {
    if (this.#known.size < MAX_NAMES) this.#known.add(model);
    return model;
  }

  #nameOf(model: string, isPriced: boolean): string {
    // No call can name an external agent: it is from the configuration.
    if (this.#known.has(model) || isExternalModel(model)) return model;
    if (this.#pricedName !== undefined) return this.#pricedName(model) ?? OTHER;
    return isPriced ? withoutVersion(model) : OTHER;
  }
}
