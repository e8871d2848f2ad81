/** The checks of `sous doctor` about telemetry: where it goes, what of it is wrong, which packages are missing. Sends nothing. */

import type { TelemetrySettings } from "../../core/configuration.ts";
import { messageOf } from "../../core/errors.ts";
import type { Variables } from "../../core/variables.ts";
import { type OtlpSettings, readOtlpSettings } from "../../telemetry/otlp-settings.ts";
import { type Check, ok, warning } from "./machine.ts";

const NAME = "telemetry";

/** Empty when there is none. */
export async function checkTelemetry(settings: TelemetrySettings | undefined, env: Variables): Promise<Check[]> {
  const checks: Check[] = [];
  const warn = (sentence: string): void =>
    void checks.push(warning(NAME, sentence, "correct it; the names and values are in docs/reference/config.md"));
  const found = readOtlpSettings({ endpoint: settings?.otlpEndpoint, variables: env, warn });
  if (found !== undefined) checks.push(await checkOtlp(found));
  const port = settings?.metricsPort;
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
    import("../../telemetry/otlp.ts"),
    import("../../telemetry/run-ids.ts"),
  ]);
  try {
    const otlp = await openOtlp(settings, { version: "", idGenerator: runIdGenerator() });
    await otlp.close(0);
    return ok(NAME, found);
  } catch (error) {
    return warning(NAME, `${found}: nothing is sent`, messageOf(error));
  }
}
