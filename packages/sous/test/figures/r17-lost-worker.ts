/**
 * A process whose run pays, on a store that goes away meanwhile. It says `ready`, waits for its order on stdin, says `e` and a
 * number for each payment, and `r` and the result, if it comes so far.
 */

import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createRuntime } from "../../src/runtime.ts";
import { openPostgresStore } from "../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { GOES_AWAY_AT, payer } from "./r17-payer.ts";

export type PayOrder = {
  readonly log: string;
  /** A file, or a server and the folder for marks. */
  readonly place: { readonly file: string } | { readonly connectionString: string; readonly lostFolder: string };
  readonly requireStore: boolean;
};

process.stdin.once("data", (data: Buffer) => void work(JSON.parse(data.toString()) as PayOrder));
process.stdin.on("end", () => process.exit());
say("ready");

async function work({ log, place, requireStore }: PayOrder): Promise<void> {
  try {
    await using store =
      "file" in place
        ? await openSqliteStore(place.file, { busyTimeoutMs: 0 })
        : await openPostgresStore({ ...place, reconnectMs: 50 });
    const lead = payer(log, async (number) => {
      say(`e ${number}`);
      if (number === GOES_AWAY_AT) await new Promise((next) => process.stdin.once("data", next));
      else await setTimeout(Math.random() * 5);
    });
    const handle = createRuntime({ store, requireStore }).run(lead, "Pay.");
    say(`i ${handle.id}`);
    const { status, lost } = await handle.result;
    say(`r ${JSON.stringify({ status, lost })}`);
  } catch (error) {
    say(`x ${JSON.stringify(String((error as Error).stack))}`);
  }
  process.stdin.destroy();
}

/** At once: what is said before a death is heard. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
