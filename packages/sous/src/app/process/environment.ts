/** The variables a program gets: a short list of harmless ones, what was named for it, and nothing else of ours. */

import { loadsCode, PASSED_ON, type Variables } from "../../core/process.ts";
import { WITHIN_VARIABLE } from "../../core/within.ts";
import type { GitSettings } from "./git-settings.ts";

/** The variable by which everything that a program has started is found again, also in a process group of its own. */
export const MARK_VARIABLE = "SOUS_RUN";

type EnvironmentParts = {
  readonly ours: Variables;
  /** The variables of this one program; what would load or start other code is dropped. */
  readonly named: Variables;
  /** Fixed values: where programs are found, and what git may do. */
  readonly imposed: Variables;
  /** Added to the mark we carry ourselves, so that the process that started us finds our programs too. */
  readonly mark: string;
};

export function cleanEnvironment({ ours, named, imposed, mark }: EnvironmentParts): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of PASSED_ON) add(clean, name, ours[name]);
  // A sous that a program of ours starts is as limited as we are.
  add(clean, WITHIN_VARIABLE, ours[WITHIN_VARIABLE]);
  for (const [name, value] of Object.entries(named)) if (!loadsCode(name)) add(clean, name, value);
  for (const [name, value] of Object.entries(imposed)) add(clean, name, value);
  clean[MARK_VARIABLE] = `${outerMark(ours)}${mark}`;
  // Node's pipes are sockets. A bash that finds one at its input, and no shell around it, takes itself for a remote login and runs ~/.bashrc.
  clean.SHLVL = "1";
  return clean;
}

/** The mark that our parent process gave us; accepted only in the form that we write. */
export function outerMark(ours: Variables): string {
  const outer = ours[MARK_VARIABLE] ?? "";
  return /^(?:[0-9a-f]{32}-\d+\/){1,16}$/.test(outer) ? outer : "";
}

function add(clean: Record<string, string>, name: string, value: string | undefined): void {
  if (value !== undefined && !value.includes("\0") && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) clean[name] = value;
}

/** A folder that only looks like a repository is none, and no file watcher is started for a program that ends at once. */
const ALWAYS: readonly Setting[] = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
];

/** Every setting with a fixed name that holds a program, with the value git has without it. */
const UNTRUSTED: readonly Setting[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.askPass", ""],
  ["core.sshCommand", "ssh"],
  ["core.alternateRefsCommand", "true"],
  ["gpg.program", "gpg"],
  ["gpg.openpgp.program", "gpg"],
  ["gpg.x509.program", "gpgsm"],
  ["gpg.ssh.program", "ssh-keygen"],
  ["gpg.ssh.defaultKeyCommand", ""],
  ["protocol.ext.allow", "never"],
];

/** Nothing can be typed in and there is no terminal, so they are not needed. `:` is an editor that git does not start. */
const UNTRUSTED_VARIABLES: Readonly<Record<string, string>> = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_EDITOR: ":",
  GIT_SEQUENCE_EDITOR: ":",
  GIT_TERMINAL_PROMPT: "0",
  // A partial clone would ask its remote, by a program that its configuration names, for commands that only look.
  GIT_NO_LAZY_FETCH: "1",
  // Git takes the first of several proxies in the configuration, so this one cannot be set there.
  GIT_PROXY_COMMAND: "",
};

type Setting = readonly [key: string, value: string];

/** Remotes that are no folder of this machine and not reached by ssh. Git takes the first program that is set for a remote, so ours would be none. */
const WITHOUT_PROGRAMS = "http:https:git";

/** The value of a trailer as it was given: git does not take an empty command for none. */
const GIVEN_VALUE = "printf %s";

/** An archive that a program of the repository would pack is not made, and git says so. */
const NO_PROGRAM = "false";

/** Git prints it behind "key does not contain a section", and ends. */
const UNKNOWN = "git is not started here before sous trust, because the settings of the repository cannot be looked at";

/** `trusted`: hooks and the like are the project's own. Else what the configuration of the repository names. */
export function gitEnvironment(found: "trusted" | GitSettings): Record<string, string> {
  if (found === "trusted") return told(ALWAYS);
  if (found === "unknown") return { ...UNTRUSTED_VARIABLES, ...told([[UNKNOWN, ""]]) };
  const trailers = found.trailers.flatMap((name): Setting[] => [
    [`trailer.${name}.cmd`, GIVEN_VALUE],
    [`trailer.${name}.command`, ""],
  ]);
  const archives = found.archives.map((name): Setting => [`tar.${name}.command`, NO_PROGRAM]);
  const protocols: Record<string, string> = found.hasRemotes ? { GIT_ALLOW_PROTOCOL: WITHOUT_PROGRAMS } : {};
  return { ...UNTRUSTED_VARIABLES, ...protocols, ...told([...ALWAYS, ...UNTRUSTED, ...trailers, ...archives]) };
}

function told(settings: readonly Setting[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
