/** The models that definitions and calls choose, and which of them a name leads to. */

import type { ModelChoice } from "../../core/agent.ts";
import { UserError } from "../../core/errors.ts";
import { type Model, providerOf } from "../../core/model.ts";
import { andThen } from "./at-once.ts";

/** The depth and the model of a run that begins a journal. */
export type RootPlace = { readonly depth: number; readonly model: ModelChoice | undefined };

export class ChosenModels {
  readonly #resolve: (choice: ModelChoice) => Model | Promise<Model>;
  /** Any other has no provider that a call could name. */
  readonly #foundByName = new WeakSet<Model>();

  constructor(resolve: (choice: ModelChoice) => Model | Promise<Model>) {
    this.#resolve = resolve;
  }

  find(choice: ModelChoice | undefined, inherited: Model | undefined): Model | Promise<Model> {
    if (choice === undefined && inherited !== undefined) return inherited;
    if (choice === undefined)
      throw new UserError('No model: give the agent one, such as model: "anthropic/claude-sonnet-4-5"');
    return andThen(this.#resolve(choice), (found) => {
      if (typeof choice === "string") this.#foundByName.add(found);
      return found;
    });
  }

  /** Undefined for a model that the developer has made: a name would lead to another key. */
  providerOf(model: Model): string | undefined {
    return this.#foundByName.has(model) ? providerOf(model.id) : undefined;
  }
}
