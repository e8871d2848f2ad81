/** What the file of a project may change: it may add and narrow, whatever else it says is ignored and told. */

import type { Entry, Origin } from "./layer.ts";
import type { GivenRule } from "./permission-type.ts";
import { SECRET_FIELDS, type Server, type Servers } from "./server-type.ts";
import type { Setting } from "./settings.ts";

/** Why a project's value is ignored; undefined when it is taken. `users` is what holds without the project. */
export function projectRefusal(setting: Setting, wanted: unknown, users: unknown): string | undefined {
  switch (setting.project) {
    case "never":
      return "only your own configuration may set it";
    case "free":
    case "add":
      return undefined;
    case "lower":
      return isLower(wanted, users) ? undefined : `a project may only lower it, and yours is ${shown(setting, users)}`;
    case "same-provider":
      // The name of a model says whose server gets the conversation and which key is used. A project that was trusted to
      // be read was not asked about that, so it may choose among the models of a provider that the user has chosen.
      return providerOf(wanted) === providerOf(users)
        ? undefined
        : "a project may only choose another model of the provider that your own configuration names";
    default:
      return setting.project satisfies never;
  }
}

function isLower(wanted: unknown, users: unknown): boolean {
  if (users === undefined) return true;
  return typeof wanted === "number" && typeof users === "number" && wanted <= users;
}

function shown({ type }: Setting, value: unknown): string {
  return value === undefined ? "not set" : type.show(value);
}

function providerOf(model: unknown): unknown {
  return typeof model === "string" ? model.split("/", 1)[0] : Symbol("nobody chose one");
}

/** An ignored part of a project's value, and where it is. */
export type Ignored = { readonly what: string; readonly why: string; readonly origin: Origin };

/** Its rules that ask or deny: one that allows would let a repository give itself rights. */
export function narrowingRules(rules: readonly GivenRule[], entry: Entry): { taken: GivenRule[]; ignored: Ignored[] } {
  const taken = rules.filter(({ effect }) => effect !== "allow");
  const ignored = rules
    .filter(({ effect }) => effect === "allow")
    .map(({ pattern, index }) => ({
      what: `allow ${JSON.stringify(pattern)}`,
      why: "a project may only ask or deny",
      origin: entry.origin([index]),
    }));
  return { taken, ignored };
}

/** Its servers with names that the user does not have, and without what carries keys. */
export function addedServers(wanted: Servers, users: Servers, entry: Entry): { taken: Servers; ignored: Ignored[] } {
  const taken: Record<string, Server> = Object.create(null);
  const ignored: Ignored[] = [];
  for (const [name, server] of Object.entries(wanted)) {
    const origin = entry.origin([name]);
    if (Object.hasOwn(users, name)) {
      ignored.push({ what: name, why: "your own configuration has a server of this name", origin });
      continue;
    }
    for (const field of SECRET_FIELDS.filter((each) => Object.hasOwn(server, each))) {
      const why = "a project may not set it for a server";
      ignored.push({ what: `${name}.${field}`, why, origin: entry.origin([name, field]) });
    }
    taken[name] = Object.fromEntries(Object.entries(server).filter(([field]) => !SECRET_FIELDS.includes(field)));
  }
  return { taken, ignored };
}
