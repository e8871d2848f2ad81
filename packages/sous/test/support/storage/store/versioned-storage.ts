/** Everything that reads or writes events with a version, in one module: a test imports it with another list of steps. */

export { EVENT_VERSION } from "../../../../src/core/words/event-rows.ts";
export { EVENT_STEPS } from "../../../../src/core/words/events.ts";
export { decodeEvent } from "../../../../src/storage/store/event-row.ts";
export { parseStoredEvent } from "../../../../src/storage/store/event-schema.ts";
export { exportTree } from "../../../../src/storage/store/export/tree.ts";
export { importTree } from "../../../../src/storage/store/import/tree.ts";
export { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
