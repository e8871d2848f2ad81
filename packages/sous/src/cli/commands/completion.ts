/** `sous completion`: prints the script that makes a shell complete what is typed. */

import { usageError } from "../exit-codes.ts";
import { COMMAND_TABLE } from "../table/command-table.ts";
import { quoted, readOptions, refusePositionals } from "../table/options.ts";
import { COMPLETION } from "../table/setup-entries.ts";

const COMMAND = "sous completion";
const SHELLS = ["bash", "zsh", "fish"] as const;

export async function completion(parameters: readonly string[]): Promise<number> {
  const { positionals } = readOptions(COMPLETION, parameters);
  const [given, ...rest] = positionals;
  refusePositionals(COMMAND, rest);
  const shell = SHELLS.find((name) => name === given);
  if (shell === undefined) {
    const found = given === undefined ? "" : `; found ${quoted(given)}`;
    throw usageError(`${COMMAND} needs the name of a shell: ${SHELLS.join(", ")}${found}. See ${COMMAND} --help.`);
  }
  process.stdout.write(await scriptFor(shell));
  return 0;
}

async function scriptFor(shell: (typeof SHELLS)[number]): Promise<string> {
  switch (shell) {
    case "bash":
      return (await import("../completion/bash-script.ts")).bashScript(COMMAND_TABLE);
    case "zsh":
      return (await import("../completion/zsh-script.ts")).zshScript(COMMAND_TABLE);
    case "fish":
      return (await import("../completion/fish-script.ts")).fishScript(COMMAND_TABLE);
    default:
      return shell satisfies never;
  }
}
