/** An answer inside a fence of Markdown. */

const FENCE = "```";

/** What stands between ```` ```json ```` and ```` ``` ````, when that is the whole text; else undefined. */
export function insideFence(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length < 2 * FENCE.length || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE)) return undefined;
  const inner = trimmed.slice(FENCE.length, -FENCE.length);
  const lineEnd = inner.indexOf("\n");
  const language = inner.slice(0, Math.max(0, lineEnd)).trim();
  return lineEnd === -1 || (language !== "" && language !== "json") ? undefined : inner.slice(lineEnd + 1);
}
