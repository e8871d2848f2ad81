/** The names of the runtime's own tools for children, and the sentence for one level too deep. */

export function isSubagentToolName(name: string): boolean {
  return name === "subagent" || name === "parallel_subagent" || name.startsWith("subagent_");
}

/** Relied on by people and tests. */
export function depthMessage(maxDepth: number, depth: number): string {
  return `Maximum subagent recursion depth (${maxDepth}) exceeded. Current depth: ${depth}. Do this part of the work yourself.`;
}
