/**
 * The tables of shared budgets in Postgres, and the functions that change them: a step is one call, so that no lock waits for the
 * network. The rules are those of `../budget-book.ts`; one contract holds them together.
 */

import { MAX_FIGURE } from "../shared-budget.ts";

const KEY = `name text collate "C" not null, unit text collate "C" not null`;
const LINES = "lines(name text, unit text, spent bigint, in_flight bigint, kept bigint)";

/** No process can give back more than it holds, whatever it says. */
const WITHIN = `create function SCHEMA.budget_within(me text, moved jsonb)
returns table (name text, unit text, spent bigint, in_flight bigint, kept bigint) language sql as $function$
  select lines.name, lines.unit, lines.spent, greatest(lines.in_flight, -coalesce(h.in_flight, 0)),
    greatest(lines.kept, -coalesce(h.kept, 0))
  from jsonb_to_recordset(moved) as ${LINES}
  left join SCHEMA.budget_holds h on h.owner = me and h.name = lines.name and h.unit = lines.unit
$function$`;

/** Takes these lines from the rows that are there. */
const MOVE = `create function SCHEMA.budget_move(me text, moved jsonb) returns void language sql as $function$
  with line as (
    select more.* from SCHEMA.budget_within(me, moved) more join SCHEMA.budgets b on b.name = more.name and b.unit = more.unit
  ), held as (
    insert into SCHEMA.budget_holds as h (owner, name, unit, in_flight, kept)
    select me, name, unit, in_flight, kept from line
    on conflict (owner, name, unit) do update set in_flight = h.in_flight + excluded.in_flight, kept = h.kept + excluded.kept
  )
  update SCHEMA.budgets b set spent = least(${MAX_FIGURE}, greatest(0, b.spent + line.spent)),
    in_flight = b.in_flight + line.in_flight, kept = b.kept + line.kept
  from line where b.name = line.name and b.unit = line.unit
$function$`;

/** Rows are made and locked in one order, so that no two processes wait for each other. */
const STEP = `create function SCHEMA.budget_step(
  me text, step_number bigint, known_lapses integer, made jsonb, gives jsonb, asks jsonb, told text[], waits text[], channel text
) returns table (is_taken boolean, granted boolean, lapse_count integer, others jsonb,
  name text, unit text, cap bigint, spent bigint, in_flight bigint, kept bigint)
language plpgsql as $function$
#variable_conflict use_column
declare
  own SCHEMA.budget_owners;
  locked text[] := told;
  holders jsonb := '[]';
begin
  -- One that is not there any more was taken for dead, for good.
  insert into SCHEMA.budget_owners
    values (me, 0, true, case when step_number = 1 then 0 else known_lapses + 1 end, false, '{}', clock_timestamp())
    on conflict (owner) do nothing;
  update SCHEMA.budget_owners set seen_at = clock_timestamp() where owner = me returning * into own;
  if own.step < step_number and own.lapses = known_lapses then
    if made <> '[]' then perform SCHEMA.budget_make(made); end if;
    if own.is_lapsed then locked := told || array(select h.name from SCHEMA.budget_holds h where h.owner = me); end if;
    perform from SCHEMA.budgets b where b.name = any(locked) order by b.name, b.unit for update;
    if own.is_lapsed then perform SCHEMA.budget_count_spent(me, -1); end if;
    perform SCHEMA.budget_move(me, gives);
    own.is_granted := not exists (
      select from SCHEMA.budget_within(me, asks) more left join SCHEMA.budgets b on b.name = more.name and b.unit = more.unit
      where b.name is null or more.spent + more.in_flight + more.kept > 0
        and b.spent + b.in_flight + b.kept + more.spent + more.in_flight + more.kept > b.cap
    );
    if own.is_granted and asks <> '[]' then perform SCHEMA.budget_move(me, asks); end if;
    delete from SCHEMA.budget_holds h where h.owner = me and h.name = any(told) and h.in_flight = 0 and h.kept = 0;
    own.step := step_number;
    update SCHEMA.budget_owners set step = own.step, is_granted = own.is_granted, is_lapsed = false,
      waits_for = case when own.is_granted then waits
        else waits || array(select distinct lines.name from jsonb_to_recordset(asks) as ${LINES}) end
      where owner = me;
    perform pg_notify(channel, '') where exists (
      select from jsonb_to_recordset(gives) as ${LINES} join SCHEMA.budget_owners o on o.owner <> me and lines.name = any(o.waits_for)
      where least(lines.spent, lines.in_flight, lines.kept) < 0
    );
  end if;
  if not own.is_granted or cardinality(waits) > 0 then
    select coalesce(jsonb_agg(o.owner), '[]') into holders from SCHEMA.budget_owners o
    where o.owner <> me and not o.is_lapsed
      and exists (select from SCHEMA.budget_holds h where h.owner = o.owner and h.name = any(told));
  end if;
  return query select own.step >= step_number, own.is_granted, own.lapses, holders, b.*
    from (values (1)) as one left join SCHEMA.budgets b on b.name = any(told);
end $function$`;

const MAKE = `create function SCHEMA.budget_make(made jsonb) returns void language sql as $function$
  insert into SCHEMA.budgets as b (name, unit, cap, spent, in_flight, kept)
  select name, unit, cap, spent, 0, 0
  from jsonb_to_recordset(made) as rows(name text, unit text, cap bigint, spent bigint, replaces boolean)
  where replaces or not exists (select from SCHEMA.budgets there where there.name = rows.name and there.unit = rows.unit)
  order by name, unit
  on conflict (name, unit) do update set cap = excluded.cap where exists (
    select from jsonb_to_recordset(made) as rows(name text, unit text, replaces boolean)
    where rows.name = b.name and rows.unit = b.unit and rows.replaces
  )
$function$`;

/** Counts what the calls of a process hold as spent, or as in flight again when it comes back. */
const COUNT_SPENT = `create function SCHEMA.budget_count_spent(whose text, sign integer) returns void language sql as $function$
  update SCHEMA.budgets b set spent = b.spent + sign * h.in_flight, in_flight = b.in_flight - sign * h.in_flight
  from SCHEMA.budget_holds h where h.owner = whose and h.name = b.name and h.unit = b.unit
$function$`;

/** A process is dead, unless it has made a step since this time. True when something was taken from it. */
const LAPSE = `create function SCHEMA.budget_lapse(whose text, is_gone boolean, seen_before timestamptz, channel text) returns boolean
language plpgsql as $function$
declare
  found_owner SCHEMA.budget_owners;
begin
  select * into found_owner from SCHEMA.budget_owners where owner = whose for update;
  if found_owner.owner is null or not is_gone and (found_owner.is_lapsed or found_owner.seen_at > seen_before) then return false; end if;
  perform from SCHEMA.budgets b where b.name in (select h.name from SCHEMA.budget_holds h where h.owner = whose)
    order by b.name, b.unit for update;
  update SCHEMA.budgets b set kept = b.kept - h.kept
    from SCHEMA.budget_holds h where h.owner = whose and h.name = b.name and h.unit = b.unit;
  if not found_owner.is_lapsed then perform SCHEMA.budget_count_spent(whose, 1); end if;
  if is_gone then
    delete from SCHEMA.budget_holds where owner = whose;
    delete from SCHEMA.budget_owners where owner = whose;
  else
    update SCHEMA.budget_holds set kept = 0 where owner = whose;
    update SCHEMA.budget_owners set lapses = lapses + 1, is_lapsed = true, waits_for = '{}' where owner = whose;
  end if;
  perform pg_notify(channel, '');
  return true;
end $function$`;

/** From the table of before, where a budget was one text. Its processes are gone: what their calls held counts as spent. */
const CONVERT = `do $block$
declare
  old record;
  book jsonb;
begin
  for old in select * from SCHEMA.purses loop
    begin
      book := old.books::jsonb;
      insert into SCHEMA.budgets
      select old.name, unit, cap, spent + coalesce(held, 0), 0, 0 from (values
        ('tokens', old.limit_tokens, (book #>> '{past,tokens}')::bigint,
          (select sum((m #>> '{spent,tokens}')::bigint + (m #>> '{inFlight,tokens}')::bigint) from jsonb_array_elements(book -> 'members') m)),
        ('nanoUsd', old.limit_nano_usd, (book #>> '{past,nanoUsd}')::bigint,
          (select sum((m #>> '{spent,nanoUsd}')::bigint + (m #>> '{inFlight,nanoUsd}')::bigint) from jsonb_array_elements(book -> 'members') m)),
        ('executions', old.limit_executions, (book ->> 'pastExecutions')::bigint,
          (select sum((m ->> 'executions')::bigint) from jsonb_array_elements(book -> 'members') m))
      ) as units(unit, cap, spent, held);
    -- A row that cannot be read must not keep the store from being opened.
    exception when others then null;
    end;
  end loop;
end $block$`;

/** The step of the migration that adds the rows. */
export const BUDGET_VERSION: readonly string[] = [
  `create table SCHEMA.budgets (${KEY}, cap bigint, spent bigint not null, in_flight bigint not null, kept bigint not null,
     primary key (name, unit))`,
  `create table SCHEMA.budget_holds (owner text collate "C" not null, ${KEY}, in_flight bigint not null, kept bigint not null,
     primary key (owner, name, unit))`,
  "create index budget_holds_name on SCHEMA.budget_holds (name)",
  `create table SCHEMA.budget_owners (owner text collate "C" primary key, step bigint not null, is_granted boolean not null,
     lapses integer not null, is_lapsed boolean not null, waits_for text[] not null, seen_at timestamptz not null)`,
  ...[WITHIN, MOVE, MAKE, COUNT_SPENT, STEP, LAPSE, CONVERT],
  "drop table SCHEMA.purses",
];

/** The condition that the row `b` belongs to the tree `t`. */
export const BUDGET_OF_TREE = "(b.name = t.root_id or b.name > t.root_id || '/' and b.name < t.root_id || '0')";
