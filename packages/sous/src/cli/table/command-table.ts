/** Every command of this build, in the order in which people meet them. */

import type { CommandEntry } from "./command-entry.ts";
import { REPLAY } from "./replay-entry.ts";
import { CHAT, DEMO, RESUME, RUN } from "./run-entries.ts";
import { AGENTS, COMPLETION, CONFIG_COMMAND, DOCTOR, PERMISSIONS, TRUST } from "./setup-entries.ts";

export const COMMAND_TABLE: readonly CommandEntry[] = [
  CHAT,
  RUN,
  DEMO,
  REPLAY,
  RESUME,
  AGENTS,
  CONFIG_COMMAND,
  PERMISSIONS,
  TRUST,
  DOCTOR,
  COMPLETION,
];
