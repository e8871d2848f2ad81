/** From what a person calls a model to one that can be asked. Names are resolved once. */

import type { ModelChoice } from "../core/agent.ts";
import { UserError } from "../core/errors.ts";
import type { Model } from "../core/model.ts";
import { fromAiSdk, isForeignModel } from "./ai-sdk.ts";
import { type ResolveOptions, resolveModel } from "./resolve.ts";

/** Throws a `UserError` for what is no model; rejects with one for a name that leads to none. */
export function modelCache(
  environment: Readonly<Record<string, string | undefined>>,
  optionsFor: (choice: string) => ResolveOptions | Promise<ResolveOptions> = () => ({}),
): (choice: ModelChoice) => Model | Promise<Model> {
  const known = new Map<string, Promise<Model>>();
  return (choice) => {
    if (typeof choice !== "string") return toModel(choice);
    const cached = known.get(choice) ?? resolveWith(choice, environment, optionsFor);
    known.set(choice, cached);
    // A key that is missing now may be there for the next run.
    cached.catch(() => known.delete(choice));
    return cached;
  };
}

async function resolveWith(
  choice: string,
  environment: Readonly<Record<string, string | undefined>>,
  optionsFor: (choice: string) => ResolveOptions | Promise<ResolveOptions>,
): Promise<Model> {
  return resolveModel(choice, environment, await optionsFor(choice));
}

function toModel(choice: Exclude<ModelChoice, string>): Model {
  if (isForeignModel(choice)) return fromAiSdk(choice);
  if (isModel(choice)) return choice;
  throw new UserError('A model is "provider/model", a model of the AI SDK, or an object with an id and answer()');
}

function isModel(choice: Partial<Model> | null): choice is Model {
  return typeof choice?.answer === "function" && typeof choice.id === "string";
}
