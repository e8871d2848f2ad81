/** The parts of a command whose runs, or their children, work in other processes. Loaded only where something may be placed. */

import type { Engine, PlacingStore } from "../../../core/engine.ts";
import { UserError } from "../../../core/errors.ts";
import { providerOf, whyNotNamed } from "../../../core/model.ts";
import type { Store } from "../../../core/store.ts";
import type { Roots } from "../../../runtime/tree/open.ts";
import { storeEngine } from "../../../runtime/tree/placing/store-engine.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import type { Configuration } from "../../config/configuration.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/text.ts";
import type { ModelSource } from "./models.ts";
import { ROOT_NAME, type RootParts, rootAndAgents, withModelOf } from "./root.ts";
import type { ApplicationRequest } from "./settings.ts";

/** Workers work in a folder of the same path, so they see the same files. Undefined when nothing can be placed here. */
export function engineOf(store: Store | undefined, places: ApplicationRequest["places"]): Engine | undefined {
  if (store !== undefined && canPlace(store)) return storeEngine(store, { sharesWorkspace: true });
  if (places === undefined) return undefined;
  throw new CommandError(
    store === undefined
      ? "Runs are not stored here (agent.subagent.persistence_enabled), and workers find them only in a database"
      : "This database cannot place runs on workers",
  );
}

export function canPlace(store: Store): store is Store & PlacingStore {
  return "placing" in store;
}

/** The definitions of the roots that `sous run` would know here, each made when it is asked for. */
export function rootsOf(parts: RootParts): Roots {
  const { files, configuration } = parts;
  const names = [ROOT_NAME, ...files.map(({ name }) => name)];
  return {
    names,
    async definitionOf(name) {
      if (!names.includes(name)) return undefined;
      const chosen = files.find((each) => each.name === name);
      const ofFile = chosen === undefined ? configuration : withModelOf(chosen, configuration, { model: undefined });
      return (await rootAndAgents({ ...parts, chosen, configuration: ofFile })).root;
    },
  };
}

type KnownModels = Pick<Configuration, "model" | "models"> & { readonly files: readonly Pick<AgentFile, "model">[] };

/**
 * A database may come from an untrusted source, and the model that a run in it names decides which server gets the conversation
 * and which key pays: it must be one that a call could name, or one that a person has named here.
 */
export function withoutForeignModels(
  resolve: ModelSource["resolve"],
  { model: own = "", models, files }: KnownModels,
): ModelSource["resolve"] {
  const named = new Set([own, ...files.map((file) => file.model)]);
  return (choice) => {
    if (typeof choice === "string" && !named.has(choice)) {
      const why = whyNotNamed(choice, providerOf(own), models.allow);
      if (why !== undefined)
        throw new UserError(`The model of the run is not one of this worker: ${inertLine(why, 300)}`);
    }
    return resolve(choice);
  };
}
