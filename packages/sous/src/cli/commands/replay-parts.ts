/** What every part of `sous replay` is given. */

import type { Output } from "../output.ts";

export type Replay = {
  values: ReplayValues;
  /** The database. */
  file: string;
  output: Output;
};

/** The options as they were typed. */
export type ReplayValues = {
  list?: boolean | undefined;
  id?: string | undefined;
  tree?: boolean | undefined;
  diff?: string | undefined;
  import?: string | undefined;
  prune?: string | undefined;
  backup?: string | undefined;
  limit: string;
  offset: string;
  status?: string | undefined;
  since?: string | undefined;
  request?: string | undefined;
  full: boolean;
  rerun?: boolean | undefined;
  "live-tools": boolean;
  export?: string | undefined;
  "save-cassette"?: string | undefined;
  output?: string | undefined;
  force: boolean;
  "new-ids": boolean;
  json: boolean;
};
