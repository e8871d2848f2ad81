/** Mail to placed journals in a database. */

import type { News, Placing } from "../../../core/engine.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { toMailBody, toMailRow } from "../mail-row.ts";
import type { SqliteConnection } from "./connection.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";

export function sqliteMail(connection: SqliteConnection, tell: (news: News) => void): Pick<Placing, "post" | "mail"> {
  return {
    async post(mail) {
      if (mail.length === 0) return;
      const isSent = connection.write(() => {
        let sent = 0;
        for (const { to, isForTree = false, body } of mail) {
          const { kind, question, json } = toMailRow(body);
          for (const { number } of connection.prepare(isForTree ? FIND_TREE : FIND_JOURNAL).all(toColumn(to))) {
            connection.prepare(ADD).run(number ?? 0, kind, question, json);
            sent += 1;
          }
        }
        connection.prepare(CLEAN).run();
        return sent > 0;
      });
      if (isSent) tell({ kind: "mail" });
    },
    async mail(journalIds, after) {
      const ids = JSON.stringify(journalIds.map(toColumn));
      const rows = connection.read(() => connection.prepare(READ).all(MAX_VALUE_BYTES, ids, after));
      return rows.flatMap(({ id, journal, json }) => {
        const body = toMailBody(json);
        return body === undefined ? [] : [{ id: Number(id), journalId: fromColumn(String(journal)), body }];
      });
    },
  };
}

const FIND_JOURNAL = "SELECT number FROM runs WHERE id = ? AND root = number AND is_open = 1";
const FIND_TREE = `SELECT number FROM runs WHERE id = ?1 AND root = number AND of_root IS NULL AND is_open = 1
UNION ALL SELECT number FROM runs WHERE of_root = ?1 AND is_open = 1 ORDER BY number`;
/** Writers come one after the other, so no smaller number is added later. */
const ADD = `INSERT INTO mail (id, run, kind, question, json)
SELECT ifnull(max(id), 0) + 1, ?, ?, ?, ? FROM mail`;
/** Rows that kept their number from being given again. */
const CLEAN = "DELETE FROM mail WHERE run = 0 AND id < (SELECT max(id) FROM mail)";
const READ = `SELECT m.id, t.id AS journal, iif(octet_length(m.json) > ?1, '', m.json) AS json
FROM runs t JOIN mail m ON m.run = t.number
WHERE t.id IN (SELECT value FROM json_each(?2)) AND t.root = t.number AND t.is_open = 1 AND m.id > ?3 ORDER BY m.id`;
