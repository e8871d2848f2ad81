/** The statements about placed runs. */

import { LAST_SEQ } from "../event-schema.ts";
import { statement } from "./connection.ts";
import { told } from "./listening.ts";
import { IDENTITY_COLUMNS, insertPlaced } from "./run-rows.ts";
import { TREE_BITS } from "./schema.ts";
import { IS_QUEUED, LEASE_END } from "./trees.ts";

export function placingStatements(schema: string) {
  const trees = `${schema}.trees`;
  /** Mail for which a journal that waits for an answer is continued. */
  const isWoken = `exists (select from ${schema}.mail m where m.tree = t.tree and m.id > t.mail_seen
    and (m.kind = 'stop' or m.kind = 'answer' and strpos(t.questions, m.question) > 0))`;
  return {
    /** $1 takes journals of the agents $2, but not $3. $4 are dead; with $5 it also takes what is its own, but for $5. $7 is a folder. */
    take: statement(
      `with free as (
         select t.tree from ${trees} t
         where t.is_open and t.lost is null and t.agent = any($2::text[]) and t.root_id <> all($3::text[])
           and ($7::text is null or $7 = (select r.cwd from ${schema}.runs r where r.id = t.root_id))
           and case
             when t.owner is null then t.questions is null or ${isWoken}
             when t.owner = $1 then t.root_id <> all($5::text[])
             else t.lease_until <= clock_timestamp() or t.owner = any($4::text[]) end
         order by t.tree limit $6 for update of t skip locked)
       update ${trees} t set fence = t.fence + 1, claims = t.claims + 1, owner = $1, worker = $1, lease_until = ${LEASE_END},
         mail_seen = greatest(t.mail_seen, (select max(m.id) from ${schema}.mail m where m.tree = t.tree))
       from free where t.tree = free.tree returning t.tree, t.root_id, t.fence, t.claims`,
    ),
    ends: statement(
      `select r.end_seq as seq, e.run, e.type, e.json, ${IDENTITY_COLUMNS}
       from ${trees} t join ${schema}.runs r on r.id = t.root_id
       join ${schema}.events e on e.key = (t.tree << ${TREE_BITS}) + r.end_seq
       where t.root_id = any($1::text[]) and r.end_seq between 1 and ${LAST_SEQ}`,
    ),
    journals: statement(
      `select t.root_id, t.last_seq, t.owner, t.worker, t.claims, t.lease_until > clock_timestamp() as is_leased,
         ${IS_QUEUED} as is_queued, t.questions is not null as is_asked, r.status
       from ${trees} t join ${schema}.runs r on r.id = t.root_id where t.of_root = $1 order by t.tree`,
    ),
    begun: statement(`select root_id from ${trees} where root_id = any($1::text[])`),
    above: statement(
      `select r.id, coalesce(t.of_root, t.root_id) as root from ${schema}.runs r join ${trees} t on t.tree = r.tree
       where r.id = any($1::text[])`,
    ),
    place: statement(
      `insert into ${trees} (root_id, started_at, last_seq, fence, of_root, agent, is_open)
       select id, started_at, 1, 0, of_root, agent, true
       from unnest($1::text[], $2::double precision[], $3::text[], $4::text[])
         with ordinality as rows(id, started_at, of_root, agent, number)
       order by number on conflict (root_id) do nothing returning tree, root_id`,
    ),
    write: statement(
      `with begun as (${insertPlaced(schema, 3)})
       insert into ${schema}.events (key, run, type, json)
       select (tree << ${TREE_BITS}) + 1, 1, 'run-start', json from unnest($1::bigint[], $2::text[]) as rows(tree, json)`,
    ),
    tellPlaced: statement(`select ${told(schema, "placed", "$1::text")}`),
    tellAllPlaced: statement(`select ${told(schema, "placed")}`),
  };
}
