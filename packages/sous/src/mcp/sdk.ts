/** The SDK of the protocol, loaded when the first server is to be reached. */

import { codeOf, UserError } from "../core/errors.ts";

export type Sdk = typeof import("@modelcontextprotocol/client");

const MISSING =
  "MCP servers need the package @modelcontextprotocol/client: install it beside sous, npm install @modelcontextprotocol/client";

/** The package is not installed. */
export class MissingSdk extends UserError {
  override name = "MissingSdk";
}

/** Rejects with `MissingSdk` when the package is not installed. */
export async function loadSdk(): Promise<Sdk> {
  return await import("@modelcontextprotocol/client").catch((error: unknown) => {
    if (codeOf(error) === "ERR_MODULE_NOT_FOUND") throw new MissingSdk(MISSING, { cause: error });
    throw error;
  });
}
