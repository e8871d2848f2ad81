/** Describes a process that failed. */

/** The line that names the error, or the end of what was said. */
export function describeCrash(stderr) {
  return (stderr.match(/^.*Error.*: .*$/m)?.[0] ?? stderr.slice(-300)).trim();
}
