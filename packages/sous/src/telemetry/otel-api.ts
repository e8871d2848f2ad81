/** The API of OpenTelemetry, which users install beside sous. */

import { createRequire } from "node:module";
import { codeOf, UserError } from "../core/errors.ts";

const NO_API =
  "Traces and metrics need the package @opentelemetry/api: install it beside sous, npm install @opentelemetry/api";

/** Without `await`, so that `require("sous/otel")` works. Copies of the API share what is registered. */
function loadApi(): typeof import("@opentelemetry/api") {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api");
  } catch (error) {
    throw codeOf(error) === "MODULE_NOT_FOUND" ? new UserError(NO_API) : error;
  }
}

export const { context, diag, metrics, propagation, SpanKind, SpanStatusCode, trace } = loadApi();
