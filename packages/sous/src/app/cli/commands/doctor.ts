/** `sous doctor`: looks at the machine and the setup, and says what to do. Changes nothing, and starts only agent servers. */

import { messageOf } from "../../../core/errors.ts";
import {
  type Check,
  type CheckState,
  checkDatabase,
  checkDisk,
  checkFolders,
  checkLeftovers,
  checkPrograms,
  checkSettingsFile,
  checkTerminal,
  checkVersions,
  findPrograms,
  ok,
  problem,
  stateOf,
  type Terminal,
} from "../doctor/machine.ts";
import { checkModel, checkPrices } from "../doctor/model.ts";
import { checkServers, checkTelemetry } from "../doctor/servers.ts";
import { checkSetup } from "../doctor/setup.ts";
import { EXIT } from "../exit-codes.ts";
import { databaseFile, isAddress, type ProcessContext, processContext, shownDatabase } from "../files/paths.ts";
import { type Database, isThere, openDatabase } from "../stored/database.ts";
import { type OptionValues, readOnlyOptions } from "../table/options.ts";
import { DOCTOR } from "../table/setup-entries.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import type { Colour } from "../terminal/style.ts";
import { breakLine, cutToWidth, displayWidth, inertLine, plural } from "../terminal/text.ts";

export async function doctor(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(DOCTOR, parameters);
  const output = openOutput(process.stdout, values);
  const { default: manifest } = await import("../../../../package.json", { with: { type: "json" } });
  const { isTTY = false, columns, rows } = process.stdout;
  const request: DoctorRequest = {
    ...processContext(),
    flags: values,
    terminal: { isTerminal: isTTY, columns, rows },
    versions: { node: process.versions.node, sous: manifest.version },
  };
  const checks = await examine(request);
  if (values.json) printJson(toJson(checks));
  else output.print([...checkLines(checks, output), "", summary(checks)]);
  return exitCodeOf(checks);
}

export type DoctorRequest = ProcessContext & {
  readonly flags: Pick<OptionValues<typeof DOCTOR>, "model" | "config" | "db-path" | "online">;
  readonly terminal: Terminal;
  readonly versions: { readonly node: string; readonly sous: string };
};

export async function examine(request: DoctorRequest): Promise<Check[]> {
  const { cwd, env, flags, terminal, versions } = request;
  const setup = await checkSetup({ cwd, env, configFile: flags.config, model: flags.model });
  const choice = setup.configuration?.model ?? flags.model ?? (env.SOUS_MODEL || undefined);
  return [
    ...checkVersions(versions.node, versions.sous),
    checkTerminal(terminal, env),
    ...checkFolders(env),
    ...checkSettingsFile(env),
    ...setup.checks,
    ...(await checkModel({ choice, provider: setup.configuration?.provider, env, isOnline: flags.online })),
    checkPrices(choice, setup.configuration),
    ...(await checkRuns(request, setup.configuration?.agent.subagent.persistencePath)),
    ...checkPrograms(await findPrograms({ cwd, env })),
    ...(await checkServers(setup.configuration, { cwd, env })),
    ...(await checkTelemetry(setup.configuration, env)),
    await checkLeftovers(env),
  ];
}

async function checkRuns({ env, flags }: DoctorRequest, configured: string | undefined): Promise<Check[]> {
  try {
    const file = databaseFile(flags["db-path"] ?? configured, env);
    const database = isAddress(file) ? undefined : await checkDatabase(file);
    const files = database === undefined ? [] : [database, checkDisk(file)];
    return database?.state === "problem" ? files : [...files, ...(await checkPlaced(file))];
  } catch (error) {
    return [problem("database", messageOf(error), "set HOME or XDG_DATA_HOME, or give --db-path FILE")];
  }
}

/** Looks at a database in a file as it is; one in Postgres must answer. */
async function checkPlaced(file: string): Promise<Check[]> {
  if (!isThere(file)) return [];
  const [{ checkWorkers }, store] = await Promise.all([import("../doctor/workers.ts"), openToLook(file)]);
  if (store === undefined) return [];
  if (typeof store === "string") return [problem("database", store, "start the server, or give another database")];
  await using _store = store;
  const about = isAddress(file) ? [ok("database", `${shownDatabase(file)} answers`)] : [];
  return [...about, ...(await checkWorkers(store, Date.now()))];
}

/** The reason when a database in Postgres cannot be opened. A file of an older version is left as it is. */
async function openToLook(file: string): Promise<Database | string | undefined> {
  if (isAddress(file)) return openDatabase(file, { readOnly: true }).catch(messageOf);
  const { openSqliteStore } = await import("../../../storage/store/sqlite/store.ts");
  return openSqliteStore(file, { readOnly: true }).catch(() => undefined);
}

export function exitCodeOf(checks: readonly Check[]): number {
  const problems = checks.filter(({ state }) => state === "problem");
  if (problems.length === 0) return EXIT.ok;
  const isSetup = problems.some(({ name }) => name === "configuration" || name === "agents");
  return isSetup ? EXIT.configuration : EXIT.failed;
}

export function toJson(checks: readonly Check[]): Record<string, unknown> {
  return {
    schema: "sous.doctor.v1",
    status: stateOf(checks),
    checks: checks.map(({ name, state, found, fix }) => ({ name, state, found, fix: fix ?? null })),
  };
}

const COLOURS: Readonly<Record<CheckState, Colour>> = { ok: "green", warning: "yellow", problem: "red" };
const STATE_COLUMNS = "problem".length + 2;

/** Max width of the column for names: a longer one has its text below it. */
const MAX_NAME_COLUMNS = 28;
const MIN_TEXT_COLUMNS = 30;

/** Exported for tests. */
export function checkLines(
  checks: readonly Check[],
  { style, columns, isTerminal }: Pick<Output, "style" | "columns" | "isTerminal">,
): string[] {
  const widest = Math.max(...checks.map(({ name }) => displayWidth(name))) + 2;
  const nameColumns = isTerminal ? Math.min(widest, MAX_NAME_COLUMNS) : widest;
  const beside = STATE_COLUMNS + nameColumns;
  // Beside the names there is no room for a sentence: all of them stand below.
  const isNarrow = isTerminal && columns - beside < MIN_TEXT_COLUMNS;
  const indent = isNarrow ? "    " : " ".repeat(beside);
  return checks.flatMap(({ name, state, found, fix }) => {
    const text = inertLine(fix === undefined ? found : `${found.replace(/\.$/, "")}. To do: ${fix}`, 1000);
    const lines = isTerminal ? breakLine(text, Math.max(20, columns - indent.length)) : [text];
    const shown = isTerminal ? cutToWidth(name, columns - STATE_COLUMNS, style.glyphs.more) : name;
    const head = style.paint(COLOURS[state], state.padEnd(STATE_COLUMNS));
    const isBelow = isNarrow || displayWidth(shown) + 2 > nameColumns;
    if (isBelow) return [head + shown, ...lines.map((line) => indent + line)];
    const [first = "", ...rest] = lines;
    return [head + shown.padEnd(nameColumns) + first, ...rest.map((line) => indent + line)];
  });
}

function summary(checks: readonly Check[]): string {
  const count = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  const words = (["problem", "warning"] as const)
    .filter((state) => count(state) > 0)
    .map((state) => plural(count(state), state));
  return words.length === 0 ? "All is well." : `${words.join(", ")}.`;
}
