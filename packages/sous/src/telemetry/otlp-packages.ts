/** The packages of OpenTelemetry that OTLP needs. Users install them beside sous, in versions of their own. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { codeOf, UserError } from "../core/errors.ts";
import type { OtlpSettings, SignalSettings } from "./otlp-settings.ts";

/** Opens with the packages that are there. Throws a `UserError` that says what to install when one is missing or does not fit. */
export async function withOtlpPackages<T>(settings: OtlpSettings, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const remedy = installCommand(packagesFor(settings), fileURLToPath(import.meta.url));
    if (codeOf(error) === "ERR_MODULE_NOT_FOUND") {
      throw new UserError(`OTLP needs packages that are not installed beside sous: ${remedy}`);
    }
    // A class or function that another version does not have.
    if (error instanceof TypeError) {
      throw new UserError(`OTLP needs other versions of the packages beside sous: ${remedy}`, { cause: error });
    }
    throw error;
  }
}

/** Exporters have versions of their own. */
function packagesFor({ traces, metrics }: OtlpSettings): string[] {
  const format = ({ protocol }: SignalSettings): string => (protocol === "http/json" ? "http" : "proto");
  const names = [
    "api@1",
    "resources@3",
    ...(traces === undefined ? [] : ["sdk-trace@3", `exporter-trace-otlp-${format(traces)}@0.301`]),
    ...(metrics === undefined ? [] : ["sdk-metrics@3", `exporter-metrics-otlp-${format(metrics)}@0.301`]),
  ];
  return names.map((name) => `@opentelemetry/${name}`);
}

/** The command that puts packages where a file of sous finds them: a global sous does not see those of the project it works in. */
export function installCommand(packages: readonly string[], file: string): string {
  const [, above] = /^(.*)[\\/]node_modules[\\/]sous[\\/]/.exec(file) ?? [];
  const isGlobal = above !== undefined && !existsSync(`${above}/package.json`);
  return `npm install ${isGlobal ? "--global " : ""}${packages.join(" ")}`;
}
