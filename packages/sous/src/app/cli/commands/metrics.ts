/** `sous metrics`: serves what all runs of a database add up to, until it is stopped. */

import { serveMetrics } from "../../../bridges/telemetry/metrics-endpoint.ts";
import { createRegistry } from "../../../bridges/telemetry/registry.ts";
import { measureStore } from "../../../bridges/telemetry/totals-metrics.ts";
import { messageOf } from "../../../core/errors.ts";
import { pricedName } from "../../../runtime/budget/prices.ts";
import { readConfiguredModels } from "../application/configured-models.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext, shownDatabase } from "../files/paths.ts";
import { findDatabase, openRuns } from "../stored/database.ts";
import { readOnlyOptions } from "../table/options.ts";
import { METRICS_COMMAND } from "../table/stored-entries.ts";
import { catchInterrupts, untilStopped } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

const MAX_PORT = 65_535;

export async function metrics(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(METRICS_COMMAND, parameters);
  const { port, "db-path": dbPath, config: configFile } = values;
  if (port > MAX_PORT) throw usageError(`--port is at most ${MAX_PORT}; found ${port}`);
  using interrupts = catchInterrupts();
  const file = await findDatabase({ dbPath, configFile }, processContext());
  await using store = await openRuns(file, "read");
  const registry = createRegistry();
  const models = await readConfiguredModels(configFile, processContext());
  const stored = measureStore(store, registry, { models, pricedName });
  // The first look comes before anything is answered: in a large database it takes longer than a reader waits.
  await stored.refresh();
  const refresh = warnedOnce(() => stored.refresh());
  const render = async (): Promise<string> => {
    await refresh();
    return registry.render();
  };
  await using endpoint = await serveMetrics({ port, render });
  tell(`Metrics of ${shownDatabase(file)} are at ${endpoint.url}`);
  await untilStopped(interrupts.signal);
  return EXIT.ok;
}

/** Warns about the first of several failures in a row; the reader is told every time. */
function warnedOnce(read: () => Promise<void>): () => Promise<void> {
  let isFailing = false;
  return async () => {
    try {
      await read();
      isFailing = false;
    } catch (error) {
      if (!isFailing) tell(`warning: the database cannot be read for metrics: ${inertLine(messageOf(error), 500)}`);
      isFailing = true;
      throw error;
    }
  };
}
