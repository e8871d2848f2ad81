#!/usr/bin/env node
/** The command `sous` of a clone. Imported late, so that an old Node gets a sentence and not a syntax error. */

await import("../../../scripts/require-node.mjs");
await import("../src/app/cli/main.ts");
