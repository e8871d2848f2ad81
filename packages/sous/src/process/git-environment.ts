/**
 * What git is told in the environment of every program: a repository may name programs in its own configuration, and git
 * starts them for commands as harmless as `git status`. Settings given here go before those of any file.
 *
 * Not everything can be told. Filters, external diffs, merge drivers, aliases and helpers of a remote have names that the
 * repository chooses, or no value that switches them off.
 */

/** A folder that only looks like a repository is none, and nobody watches files for a program that ends at once. */
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

/** Nothing can be typed in and there is no terminal, so nobody misses them. `:` is an editor that git does not start. */
const UNTRUSTED_VARIABLES: Readonly<Record<string, string>> = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_EDITOR: ":",
  GIT_SEQUENCE_EDITOR: ":",
  GIT_TERMINAL_PROMPT: "0",
  // A partial clone would ask its remote, by a program that its configuration names, for commands that only look.
  GIT_NO_LAZY_FETCH: "1",
  // Of several proxies in the configuration git takes the first, so this one cannot be told there.
  GIT_PROXY_COMMAND: "",
};

type Setting = readonly [key: string, value: string];

/** `isTrusted`: hooks and the like are the project's own. */
export function gitEnvironment({ isTrusted }: { isTrusted: boolean }): Record<string, string> {
  const settings = isTrusted ? ALWAYS : [...ALWAYS, ...UNTRUSTED];
  const variables: Record<string, string> = isTrusted ? {} : { ...UNTRUSTED_VARIABLES };
  variables.GIT_CONFIG_COUNT = String(settings.length);
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
