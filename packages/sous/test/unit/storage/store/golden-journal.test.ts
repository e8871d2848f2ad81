/** The journals of every version of sous, as they were written then, are read by this one. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { readRun, showLines } from "../../../../src/app/cli/replay/show-lines.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { readMessages } from "../../../../src/core/read-history.ts";
import type { Store } from "../../../../src/core/store.ts";
import { EVENT_VERSION } from "../../../../src/core/words/event-rows.ts";
import { parseStoredEvent } from "../../../../src/storage/store/event-schema.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import {
  liveAsked,
  liveContinued,
  liveEverything,
  liveExternal,
  liveFanOut,
  liveProvider,
  liveRequired,
  liveShape,
  liveTarget,
  liveTraced,
} from "./make-golden-journal.ts";
import { livePlaced } from "./make-placed-journal.ts";

const folder = join(import.meta.dirname, "../../../golden");

/** Path, status, turns, calls, tokens, and who spoke in the conversation: user, assistant, tool. */
type Folded = [path: string, status: string, turns: number, toolCount: number, tokens: number, roles: string];

/** The entries of each version; an entry and its file are never changed again. */
const JOURNALS: Record<string, { rootId: string; folded: Folded[] }> = {
  "asked-1.json": {
    rootId: "01KDVDNA006M09NB4VWTZN283S",
    folded: [["lead", "completed", 2, 1, 113, "uata"]],
  },
  "continued-1.json": {
    rootId: "01KDVDNA00A8D1TF80MNZN1B40",
    folded: [
      ["lead", "completed", 1, 0, 24, "uaua"],
      ["lead", "completed", 1, 0, 97, "uauaua"],
    ],
  },
  "fan-out-1.json": {
    rootId: "01KDVDNA005D3HKSZCVKN17Z7C",
    folded: [
      ["fan-out", "completed", 0, 0, 0, "u"],
      ["fan-out/worker", "completed", 1, 0, 14, "ua"],
      ["fan-out/worker#2", "completed", 1, 0, 14, "ua"],
      ["fan-out/worker#3", "completed", 1, 0, 13, "ua"],
    ],
  },
  "journal-1.json": {
    rootId: "01KDVDNA00V5MCTPSSC9DF0SXC",
    folded: [
      ["lead", "incomplete", 23, 25, 256_952, "uuatatatatatatatatatatatatatatatuatatuuaua"],
      ["lead/complete", "completed", 1, 0, 4655, "uaua"],
      ["lead/cut", "completed", 1, 0, 7318, "uaua"],
      ["lead/turns", "incomplete", 1, 1, 6206, "uatua"],
      ["lead/consent", "incomplete", 2, 1, 4703, "uata"],
      ["lead/refused", "refused", 1, 0, 2318, "ua"],
      ["lead/failed", "failed", 1, 0, 0, "u"],
      ["lead/timeout", "timeout", 1, 0, 0, "u"],
      ["lead/cancelled", "cancelled", 1, 0, 0, "u"],
      ["lead/asks", "cancelled", 1, 1, 2328, "uat"],
      ["lead/shape", "completed", 1, 0, 4809, "uaua"],
      ["lead/poor", "budget_exceeded", 2, 1, 4368, "uatua"],
      ["lead/fork", "completed", 1, 0, 6597, "uuatatatatatatatatatatatua"],
      ["lead/complete", "completed", 1, 0, 2349, "uauaua"],
      ["lead/stopped", "cancelled", 1, 0, 0, "u"],
      ["lead/slow", "completed", 2, 1, 6182, "uatua"],
      ["lead", "completed", 1, 0, 7369, "uuatatatatatatatatatatatatatatatuatatuuauaua"],
    ],
  },
  "outside-1.json": {
    rootId: "01KDVDNA00ZM77A9V0VR2CKT11",
    folded: [
      ["lead", "completed", 2, 1, 519, "uata"],
      ["lead/claude", "completed", 1, 0, 940, "ua"],
    ],
  },
  "placed-3.json": {
    rootId: "01M7V6YMDN0WNATVYZ59136XN6",
    folded: [
      ["lead", "completed", 3, 2, 4121, "uatata"],
      ["lead/scout", "cancelled", 1, 1, 200, "uatuua"],
      ["lead/scout/deep", "completed", 1, 0, 100, "ua"],
    ],
  },
  "provider-1.json": {
    rootId: "01KDVDNA00QBZA1NYAVN0XS303",
    folded: [["lead", "completed", 2, 0, 1063, "uaa"]],
  },
  "required-2.json": {
    rootId: "01KDVDNA00KEXRC451GGXAJVSX",
    folded: [
      ["lead", "failed", 2, 1, 3771, "uata"],
      ["lead/mason", "failed", 1, 0, 0, "u"],
    ],
  },
  "shape-1.json": {
    rootId: "01KDVDNA00DQ6C5T3W6KSRC406",
    folded: [["lead", "completed", 2, 0, 203, "uaua"]],
  },
  "target-2.json": {
    rootId: "01KDVDNA00HA850WC29JX9W7A9",
    folded: [["lead", "completed", 2, 1, 149, "uata"]],
  },
  "traced-1.json": {
    rootId: "01KDVDNA00CQBDRSDG60XJHNSN",
    folded: [
      ["lead", "completed", 3, 1, 5787, "uataua"],
      ["lead/slow", "completed", 2, 1, 5805, "uata"],
    ],
  },
};

test("every version of the events has a golden journal, without gaps", () => {
  const names = readdirSync(folder);
  assert.deepEqual(Object.keys(JOURNALS), names);
  const versions = new Set(names.map((name) => versionIn(readFileSync(join(folder, name), "utf8"))));
  assert.deepEqual(
    [...versions].sort((one, other) => one - other),
    Array.from({ length: EVENT_VERSION }, (_, index) => index + 1),
  );
});

for (const [name, { rootId, folded }] of Object.entries(JOURNALS)) {
  const text = readFileSync(join(folder, name), "utf8");

  suite(`G6: ${name}`, () => {
    test("the journal is imported, folded to what it was, and exported as the same text if its version is the latest", async () => {
      const store = openMemoryStore();
      assert.deepEqual(await importTree(store, text), { rootId, runs: folded.length, events: eventsIn(text).length });
      assert.deepEqual(await foldedFrom(store, rootId), folded);
      const exported = await exportTree(store, rootId, "json");
      assert.deepEqual(eventsIn(exported), eventsIn(text));
      if (versionIn(text) === EVENT_VERSION) assert.equal(exported, text);
    });

    test("the journal comes through a database unchanged", async () => {
      const place = mkdtempSync(join(tmpdir(), "sous-golden-"));
      try {
        await using store = await openSqliteStore(join(place, "runs.db"));
        await importTree(store, text);
        assert.deepEqual(await foldedFrom(store, rootId), folded);
        assert.deepEqual(await store.read(rootId), eventsIn(text));
      } finally {
        rmSync(place, { recursive: true, maxRetries: 5 });
      }
    });

    test("the journal is a history without a fault", () => {
      assert.deepEqual(checkHistory(eventsIn(text)), []);
    });

    test("the journal is shown to people", async () => {
      const store = openMemoryStore();
      await importTree(store, text);
      const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });
      for (const record of await store.tree(rootId)) {
        const shown = readRun(record, await store.read(rootId, { runId: record.id }), 0);
        assert.ok(showLines(shown, { style, columns: 100, isFull: true }).join("\n").includes(record.path));
      }
      for (const format of ["html", "md"] as const) {
        const page = await exportTree(store, rootId, format);
        for (const [path] of folded) assert.ok(page.includes(path), `${path} is not in the ${format}`);
      }
    });
  });
}

suite("everything an event can hold", () => {
  test("every field of an event is in the golden journals", () => {
    const journals = Object.keys(JOURNALS).map((name) => readFileSync(join(folder, name), "utf8"));
    // What is missing here was added without a new version, or that has no golden journal: EVENT_VERSION says how to make one.
    assert.deepEqual(lackedBy(journals.flatMap(eventsIn)), []);
  });

  test("every field of an event is still written by the runtime", async () => {
    const lived = [
      ...[await liveEverything(), await liveFanOut(), await liveExternal()],
      ...[await liveTraced(), await liveContinued(), await liveProvider()],
      ...[await liveShape(), await liveAsked(), await liveTarget(), await liveRequired(), await livePlaced()],
    ];
    assert.deepEqual(lackedBy(lived.flatMap(eventsIn)), []);
  });
});

function versionIn(text: string): number {
  return JSON.parse(text).version;
}

/** As this version has them. */
function eventsIn(text: string): StoredEvent[] {
  const { version, events } = JSON.parse(text);
  return events.map((event: unknown) => parseStoredEvent(event, version));
}

async function foldedFrom(store: Store, rootId: string): Promise<Folded[]> {
  const folded: Folded[] = [];
  for (const { id, path, status, turns, toolCount, usage } of await store.tree(rootId)) {
    const roles = ((await readMessages(store, id)) ?? []).map(({ role }) => role[0]).join("");
    folded.push([path, status, turns, toolCount, usage.totalTokens, roles]);
  }
  return folded;
}

/** Fields that no event has, and words that none says. */
function lackedBy(events: readonly StoredEvent[]): string[] {
  const found = new Set(events.flatMap((event) => fieldsOf(event, event.type)));
  const wanted = Object.values(EVERY_EVENT).flatMap((event) => fieldsOf(event, event.type));
  const said = new Set(events.flatMap(wordsOf));
  return [...new Set(wanted).difference(found), ...new Set(WORDS).difference(said)];
}

/** Where anything may stand. */
const FREE = new Set(["input", "output", "metadata", "provider", "inputSchema", "outputSchema"]);

/** The ways to all values: `run-start.task.content<file>.data`. A list is as its items, each told by its kind. */
function fieldsOf(value: unknown, way: string, key = ""): string[] {
  if (FREE.has(key) || typeof value !== "object" || value === null) return [way];
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, way, "item"));
  const { type, kind } = value as { type?: unknown; kind?: unknown };
  const told = key === "item" || kind !== undefined ? `<${type ?? kind ?? ""}>` : "";
  return Object.entries(value).flatMap(([name, item]) => fieldsOf(item, `${way}${told}.${name}`, name));
}

/** Every ending, every reason to speak, every origin, every answer to a question, every way to finish. */
function wordsOf(event: StoredEvent): string[] {
  switch (event.type) {
    case "run-start":
      return [`begins as ${event.origin?.kind ?? "itself"}`];
    case "run-end":
      return [`ends ${event.status} ${event.stopReason ?? ""}`.trimEnd()];
    case "notice":
      return [`notice ${event.reason}`];
    case "approval-end":
      return [`${event.allowed ? "allowed" : "not allowed"} by ${event.by}`];
    case "message-end":
      return [`finishes by ${event.finish}`];
    case "retry":
      return [`asks again after ${event.kind}`];
    case "truncation":
      return [`cuts a ${event.subject}`];
    default:
      return [];
  }
}

const WORDS = [
  ...["itself", "follow-up", "fork", "branch"].map((origin) => `begins as ${origin}`),
  ...["completed", "incomplete turns", "incomplete consent", "budget_exceeded"].map((ending) => `ends ${ending}`),
  ...["timeout", "cancelled", "refused", "failed"].map((ending) => `ends ${ending}`),
  ...["summary", "output-repair", "wrap-up", "empty-answer", "cut-answer", "no-report"].map((why) => `notice ${why}`),
  ...["allowed by person", "not allowed by person", "not allowed by nobody", "not allowed by cancelled"],
  ...["stop", "tool-calls", "length", "content-filter", "paused", "other"].map((finish) => `finishes by ${finish}`),
  ...["overloaded", "interrupted", "output_schema"].map((kind) => `asks again after ${kind}`),
  ...["report", "tool-result"].map((subject) => `cuts a ${subject}`),
];
