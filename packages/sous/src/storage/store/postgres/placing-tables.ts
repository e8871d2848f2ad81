/** The tables of placed runs: a step of the migration, which is never changed. */

/**
 * `of_root` of a journal is the root of its tree, when that is in another journal. `is_open` is null for one that was not placed, and
 * false when its first run has ended. `mail_seen` is the number of the last mail that it need not be taken for again, and `worker` is
 * its latest owner. `question` of mail is the part of the column `questions` that it answers.
 */
export const PLACING_TABLES: readonly string[] = [
  `alter table SCHEMA.trees add column of_root text collate "C", add column agent text collate "C", add column is_open boolean,
     add column claims integer not null default 0, add column mail_seen bigint not null default 0, add column worker text`,
  "create index trees_of_root on SCHEMA.trees (of_root, tree) where of_root is not null",
  "create index trees_open on SCHEMA.trees (tree) where is_open",
  `create table SCHEMA.workers (
     owner text collate "C" primary key,
     name text not null,
     agents text not null,
     places double precision not null,
     folder text,
     lock_key bigint,
     lease_until timestamptz not null
   )`,
  `create table SCHEMA.mail (
     id bigint generated always as identity primary key,
     tree bigint not null,
     kind text collate "C" not null,
     question text,
     body text not null
   )`,
  "create index mail_tree on SCHEMA.mail (tree, id)",
];
