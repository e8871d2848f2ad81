/**
 * The checks of `sous doctor` about servers and telemetry. Each server, of agents and of tools, is started, asked for its
 * abilities, and ended; of telemetry nothing is sent.
 */

import type { CheckedMcpServer } from "../../../bridges/mcp/open.ts";
import { type OtlpSettings, readOtlpSettings } from "../../../bridges/telemetry/otlp-settings.ts";
import type { McpServer } from "../../../core/configuration.ts";
import { messageOf, UserError } from "../../../core/errors.ts";
import type { Variables } from "../../../core/process.ts";
import type { Configuration, TelemetrySettings } from "../../config/configuration.ts";
import { type CheckedServer, checkServer } from "../acp/check-server.ts";
import { openServerPrograms } from "../acp/servers.ts";
import { serverSecrets } from "../application/external.ts";
import { mcpSecrets } from "../application/mcp.ts";
import type { ProcessContext } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";
import { checkServer as checkMcp } from "../mcp/servers.ts";
import { plural, shellWord } from "../terminal/text.ts";
import { type Check, ok, problem, warning } from "./machine.ts";

/** Slow servers take 5 seconds; a broken one must not hold up the rest. */
const START_MS = 15_000;

export async function checkServers(
  configuration: Configuration | undefined,
  context: ProcessContext,
): Promise<Check[]> {
  const agents = Object.values(configuration?.agentServers ?? {});
  const tools = Object.values(configuration?.mcpServers ?? {}).filter(({ isDisabled }) => !isDisabled);
  if (configuration === undefined || agents.length + tools.length === 0) return [];
  // The output of a server that fails may hold its keys.
  alsoHide({ ...serverSecrets(configuration.agentServers), ...mcpSecrets(tools) });
  await using programs = await openServerPrograms(context);
  const options = { programs, cwd: context.cwd, opensSession: false, startMs: START_MS };
  const { allowHosts } = configuration.tools.fetch;
  const checks = [
    ...agents.map(async (server) => toCheck(await checkServer(server, options))),
    ...tools.map(async (server) => {
      const startTimeoutMs = Math.min(server.startTimeoutMs, START_MS);
      const checked = checkMcp({ ...server, startTimeoutMs }, context, { programs, allowHosts });
      return await checked.then(
        (found) => toolCheck(server, found),
        (error: unknown) => cannotCheck(server, error),
      );
    }),
  ];
  return await Promise.all(checks);
}

function toolCheck({ name: server }: McpServer, { problem: wrong, tools, handshakeMs = 0 }: CheckedMcpServer): Check {
  const name = `MCP server ${server}`;
  const more = `sous mcp check ${shellWord(server)} shows more`;
  if (wrong !== undefined) return problem(name, wrong, more);
  const changed = tools.filter(({ state }) => state === "changed").length;
  const found = `${plural(tools.length, "tool")}, answers after ${Math.round(handshakeMs)} ms`;
  if (changed === 0) return ok(name, found);
  return warning(name, `${found}; ${changed} changed since they were approved, and ask before they are used`, more);
}

/** The package of the protocol is missing, or what was approved cannot be read: the other checks still say what they found. */
function cannotCheck({ name }: McpServer, error: unknown): Check {
  if (!(error instanceof UserError)) throw error;
  return problem(`MCP server ${name}`, "it cannot be checked", error.message);
}

function toCheck({ server, answer, problem: wrong }: CheckedServer): Check {
  const name = `agent ${server.name}`;
  if (answer === undefined || wrong !== undefined)
    return problem(name, wrong ?? "it gave no answer", `sous acp check ${shellWord(server.name)} shows more`);
  const version = answer.version === undefined ? "" : ` ${answer.version}`;
  return ok(name, `${answer.id}${version} answers after ${Math.round(answer.handshakeMs)} ms`);
}

const TELEMETRY = "telemetry";

/** Names its addresses, its mistakes and missing packages. Empty when there is none. */
export async function checkTelemetry(settings: TelemetrySettings | undefined, env: Variables): Promise<Check[]> {
  const checks: Check[] = [];
  const warn = (sentence: string): void =>
    void checks.push(warning(TELEMETRY, sentence, "correct it; the names and values are in docs/reference/config.md"));
  const found = readOtlpSettings({ endpoint: settings?.telemetry.otlpEndpoint, variables: env, warn });
  if (found !== undefined) checks.push(await checkOtlp(found));
  const port = settings?.metrics.port;
  if (port !== undefined)
    checks.push(ok("metrics", `runs and chats serve them on ${port === 0 ? "any free port" : `port ${port}`}`));
  return checks;
}

async function checkOtlp(settings: OtlpSettings): Promise<Check> {
  const { traces, metrics } = settings;
  const ways = [
    traces && `traces to ${new URL(traces.url).origin}`,
    metrics && `metrics to ${new URL(metrics.url).origin}`,
  ];
  const found = ways.filter((way) => way !== undefined).join(", ");
  const [{ openOtlp }, { runIdGenerator }] = await Promise.all([
    import("../../../bridges/telemetry/otlp.ts"),
    import("../../../bridges/telemetry/run-ids.ts"),
  ]);
  try {
    const otlp = await openOtlp(settings, { version: "", idGenerator: runIdGenerator() });
    await otlp.close(0);
    return ok(TELEMETRY, found);
  } catch (error) {
    return warning(TELEMETRY, `${found}: nothing is sent`, messageOf(error));
  }
}
