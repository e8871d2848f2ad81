/** Variables of the environment that are known by name: those that every program gets, and those that load code. */

/** Variables by name, as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Names, not patterns: anything can stand behind a name that only begins like one of these. PATH, HOME and SHELL are imposed. */
export const PASSED_ON: readonly string[] = (
  "USER LOGNAME TERM TZ TMPDIR LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION " +
  "LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME"
).split(" ");

/** What makes a program load or start code before its own; not even a name that was given on purpose gets through. */
export function loadsCode(name: string): boolean {
  return LOADER.test(name);
}

const LOADER =
  /^(?:LD_.*|DYLD_.*|_RLD.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|BASH_FUNC_.*|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|PYTHONSTARTUP|PYTHONHOME|PYTHONPATH|PERL5OPT|PERL5LIB|PERL5DB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GCONV_PATH|GLIBC_TUNABLES|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|EXEC_PATH|PROXY_COMMAND|ASKPASS|EDITOR|SEQUENCE_EDITOR|PAGER|TEMPLATE_DIR|DIR|CONFIG_(?:COUNT|KEY_.*|VALUE_.*|PARAMETERS)))$/;
