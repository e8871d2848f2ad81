/** What a completion script looks up by asking sous: stored runs and agents. Bounded and quiet; the same for all shells. */

/**
 * Lines of shell that print one name a line. A name goes into a shell again, so only letters that mean nothing there pass:
 * the author of an agent file chooses any name.
 */
export const LOOK_UP_RUNS =
  'command sous replay --list --limit 30 --json 2>/dev/null | command sed -n \'s/^ *"id": "\\([0-9A-Z]*\\)",*$/\\1/p\'';

export const LOOK_UP_AGENTS =
  'command sous agents list --json 2>/dev/null | command sed -n \'s/^ *"name": "\\([A-Za-z0-9][A-Za-z0-9._-]*\\)",*$/\\1/p\'';

/** In single quotes, for any of the three shells; what is quoted here has no backslash before a quote. */
export function quote(text: string, escaped = "'\\''"): string {
  return `'${text.replaceAll("'", escaped)}'`;
}
