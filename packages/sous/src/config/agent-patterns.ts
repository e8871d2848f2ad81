/** Patterns of other programs as patterns of ours. What has no equal here becomes wider when it forbids. */

/** `git diff:*` and `git diff *` are both `git diff*` behind the name of the tool. */
export function commandPattern(specifier: string): string {
  return `terminal(${plain(specifier.trim().replace(/:\*$/, "*"))})`;
}

/** Paths are relative to the workspace; `*` of the others also matches what lies deeper. */
export function filePatterns(tool: string, specifier: string): string[] {
  const path = plain(specifier.trim().replace(/^(\.\/|\/(?!\/))/, ""));
  const deep = path.replace(/\*+/g, "**");
  return [...new Set([path, deep])].map((each) => `${tool}(${each})`);
}

/** Parentheses end a rule, and `?` is no wildcard in it. */
function plain(pattern: string): string {
  return pattern.replace(/[()?\n\r]/g, "*");
}

export function isFileTool(tool: string): boolean {
  return tool === "read_file" || tool === "write_file" || tool === "edit_file";
}
