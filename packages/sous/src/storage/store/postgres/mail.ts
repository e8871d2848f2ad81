/** Mail to placed journals in Postgres. */

import type { Placing } from "../../../core/engine.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { toMailBody, toMailRow } from "../mail-row.ts";
import { type Connection, type Query, statement } from "./connection.ts";
import { told } from "./listening.ts";

/** With more journals than this at once, those who listen are told only that there is mail. */
const MAX_NAMED = 20;

export function createMail(connection: Connection, schema: string): Pick<Placing, "post" | "mail"> {
  const sql = statements(schema);
  return {
    async post(mail) {
      if (mail.length === 0) return;
      const rows = mail.map(({ body }) => toMailRow(body));
      await connection.transaction(async (query: Query) => {
        // One after the other: a reader that has seen a number never looks for a smaller one, so none may be committed later.
        await query(sql.lock, [schema]);
        await query(sql.clean);
        const sent = await query(sql.post, [
          mail.map(({ to }) => toColumn(to)),
          mail.map(({ isForTree = false }) => isForTree),
          rows.map(({ kind }) => kind),
          rows.map(({ question }) => question),
          rows.map(({ json }) => json),
        ]);
        if (sent.length > MAX_NAMED) await query(sql.tellAll);
        else if (sent.length > 0) await query(sql.tell, [sent.map(({ tree }) => tree)]);
      });
    },
    async mail(journalIds, after) {
      if (journalIds.length === 0) return [];
      const rows = await connection.query(sql.read, [journalIds.map(toColumn), after]);
      return rows.flatMap(({ id, root_id, body: json }) => {
        const body = toMailBody(json);
        return body === undefined ? [] : [{ id: Number(id), journalId: fromColumn(String(root_id)), body }];
      });
    },
  };
}

function statements(schema: string) {
  return {
    lock: statement("select pg_advisory_xact_lock(hashtextextended('sous mail ' || $1::text, 0))::text as done"),
    // A journal may have ended while mail for it was on its way.
    clean: statement(
      `delete from ${schema}.mail m where not exists (select from ${schema}.trees t where t.tree = m.tree and t.is_open)`,
    ),
    post: statement(
      `insert into ${schema}.mail (tree, kind, question, body)
       select t.tree, given.kind, given.question, given.body
       from unnest($1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[])
         with ordinality as given(address, is_for_tree, kind, question, body, number)
       join lateral (
         select tree from ${schema}.trees
         where root_id = given.address and is_open and (of_root is null or not given.is_for_tree)
         union all
         select tree from ${schema}.trees where given.is_for_tree and of_root = given.address and is_open
       ) as t on true
       order by given.number, t.tree returning tree`,
    ),
    tell: statement(`select ${told(schema, "mail", "root_id")} from ${schema}.trees where tree = any($1::bigint[])`),
    tellAll: statement(`select ${told(schema, "mail")}`),
    read: statement(
      `select m.id, t.root_id, m.body from ${schema}.trees t join ${schema}.mail m on m.tree = t.tree
       where t.root_id = any($1::text[]) and t.is_open and m.id > $2 order by m.id`,
    ),
  };
}
