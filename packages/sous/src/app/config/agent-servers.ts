/** `agent_servers`: agents of others as Zed and JetBrains write them, with a time and a price of ours. */

import type { AgentServer } from "../core/configuration.ts";
import { outsideName } from "../core/outside-agent.ts";
import { isRecord } from "../core/schema.ts";
import {
  type Field,
  type Fields,
  field,
  fieldOf,
  groupsOf,
  type Servers,
  TEXT,
  TEXT_BY_NAME,
  TEXTS,
} from "./group-types.ts";
import type { ResolvedServer, ServerRules } from "./resolve-settings.ts";
import { placeOf, type Surroundings, startFolder } from "./start-folder.ts";
import { type Complaint, duration, money, type ValueType, word } from "./value-type.ts";

const DAY = 86_400;
const TIMEOUT_SECONDS = 30 * 60;

export const AGENT_SERVERS_ABOUT =
  "Agents of others that speak ACP, by name, as Zed and JetBrains write them: command, args, env, default_mode, default_model (or model), and for sous cwd (where the program is started; your home folder), timeout (30m) and max_cost (US dollars a prompt). A project may not set env, cwd, default_mode, timeout and max_cost.";

/** Variables carry keys; a mode may skip questions; a price that is too low would get an agent past a limit of money. */
export const AGENT_SERVER_RULES: ServerRules = {
  shortName: outsideName,
  usersFields: ["env", "cwd", "default_mode", "max_cost", "timeout"],
};

/** `custom` is a command. The others are installed by an editor, which alone knows their command. */
const INSTALLED = ["registry", "extension"] as const;
const TYPES = ["custom", ...INSTALLED] as const;

/** Of editors; accepted, so that an entry can be copied, and without effect. */
const ANY: Field = field({}, "anything", () => true);
const OF_EDITORS: Fields = {
  favorite_models: ANY,
  default_config_options: ANY,
  favorite_config_option_values: ANY,
  ignore_system_version: ANY,
  use_idea_mcp: ANY,
  use_custom_mcp: ANY,
};

const timeout = duration(DAY);
const price = money();

const FIELDS: Fields = {
  command: TEXT,
  args: TEXTS,
  env: TEXT_BY_NAME,
  cwd: TEXT,
  type: fieldOf(word(TYPES)),
  default_mode: TEXT,
  default_model: TEXT,
  model: TEXT,
  timeout: fieldOf(timeout),
  max_cost: fieldOf(price),
  ...OF_EDITORS,
};

export function agentServers(): ValueType<Servers> {
  const allowed = "servers by name, each with command";
  return groupsOf({
    allowed,
    advice: allowed,
    name: {
      pattern: /^[A-Za-z0-9](?:[\w .:+()-]{0,62}[\w)])?$/,
      wants: "a name of letters, digits, spaces and . _ : + ( ) -, that begins with a letter or digit",
    },
    fields: FIELDS,
    needed: {
      oneOf: ["command"],
      or: {
        schema: { properties: { type: { enum: INSTALLED } }, required: ["type"] },
        accepts: ({ type }) => INSTALLED.some((each) => each === type),
      },
    },
    complainOfNames,
    toValue: (given) => given,
  });
}

/** Rules and agent files may write the short name, so it must lead to one server. */
function complainOfNames(names: readonly string[]): Complaint[] {
  const first = new Map<string, string>();
  return names.flatMap((name): Complaint[] => {
    const short = outsideName(name);
    const other = first.get(short);
    first.set(short, other ?? name);
    if (other === undefined) return [];
    const message = `has the same short name as ${other}: both are external/${short}`;
    return [{ kind: "range", path: [name], message, fix: "give one of them another name", isName: true }];
  });
}

/** What sous can start. Warns about the others, which an editor has installed. */
export function toAgentServers(
  servers: readonly ResolvedServer[],
  surroundings: Surroundings,
  warnings: string[],
): Readonly<Record<string, AgentServer>> {
  const started = servers.map((each) => toAgentServer(each, surroundings)).filter((server) => server !== undefined);
  const names = new Set(started.map(({ name }) => name));
  for (const { name, origin } of servers) {
    if (!names.has(name))
      warnings.push(
        `${origin}: agent_servers: ${name} is not used: sous starts an agent by its command; write command, and args if it takes some`,
      );
  }
  return Object.fromEntries(started.map((server) => [server.name, server]));
}

function toAgentServer({ name, server, origin, isProject }: ResolvedServer, surroundings: Surroundings) {
  const { command, args, env } = server;
  if (typeof command !== "string") return undefined;
  return {
    name,
    command,
    args: Array.isArray(args) ? args.map(String) : [],
    cwd: startFolder(textIn(server.cwd), placeOf(isProject, surroundings)),
    env: isRecord(env) ? Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)])) : {},
    defaultMode: textIn(server.default_mode),
    model: textIn(server.model) ?? textIn(server.default_model),
    timeoutMs: (numberOf(timeout, server.timeout) ?? TIMEOUT_SECONDS) * 1000,
    maxCostUsd: numberOf(price, server.max_cost),
    origin,
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The fields were checked before. */
function numberOf(type: ValueType<number>, given: unknown): number | undefined {
  const read = type.read(given);
  return "value" in read ? read.value : undefined;
}
