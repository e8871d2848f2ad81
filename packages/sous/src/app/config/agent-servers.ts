/** `agent_servers`: external agents as Zed and JetBrains write them, with a time and a price of ours. */

import { externalName } from "../../core/external-agent.ts";
import { isRecord } from "../../core/schema.ts";
import type { AgentServer } from "./configuration.ts";
import {
  type Fields,
  field,
  groupsOf,
  type ServerFields,
  TEXT,
  TEXT_BY_NAME,
  TEXTS,
  uniqueNames,
} from "./group-types.ts";
import type { ResolvedServer, ServerRules } from "./resolve-settings.ts";
import { placeOf, type Surroundings, startFolder } from "./start-folder.ts";
import { duration, money, word } from "./value-type.ts";

const DAY = 86_400;
const TIMEOUT_SECONDS = 30 * 60;

export const AGENT_SERVERS_ABOUT =
  "External agents that speak ACP, by name, as Zed and JetBrains write them: command, args, env, default_mode, default_model (or model), and for sous cwd (where the program is started; your home folder), timeout (30m) and max_cost (US dollars a prompt). A project may not set env, cwd, default_mode, timeout and max_cost.";

/** Variables carry keys; a mode may skip questions; a price that is too low would get an agent past a limit of money. */
export const AGENT_SERVER_RULES: ServerRules = {
  shortName: externalName,
  usersFields: ["env", "cwd", "default_mode", "max_cost", "timeout"],
};

/** `custom` is a command. The others are installed by an editor, which alone knows their command. */
const INSTALLED = ["registry", "extension"] as const;
const TYPES = ["custom", ...INSTALLED] as const;

/** Fields of editors; accepted, so that an entry can be copied, and without effect. */
const ANY = field({}, "anything", () => true);
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
  type: word(TYPES),
  default_mode: TEXT,
  default_model: TEXT,
  model: TEXT,
  timeout,
  max_cost: price,
  ...OF_EDITORS,
};

export function agentServers() {
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
    // Rules and agent files may write the short name, so it must lead to one server.
    complainOfNames: uniqueNames(externalName, (short) => `both are external/${short}`),
    toValue: (given): ServerFields => given,
  });
}

/** The servers that sous can start. Warns about the others, which an editor has installed. */
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
    timeoutMs: (timeout.optional().parse(server.timeout) ?? TIMEOUT_SECONDS) * 1000,
    maxCostUsd: price.optional().parse(server.max_cost),
    origin,
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
