/** Compared with a step of a pattern. */
const PART_COST = 12;

/** A text that two JSON values share exactly when JSON Schema calls them equal. `spend` hears what it costs. */
export function jsonKey(value: unknown, spend: (steps: number) => void): string {
  if (typeof value === "string") {
    spend(PART_COST + (value.length >> 4));
    return JSON.stringify(value);
  }
  spend(PART_COST);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => jsonKey(item, spend)).join()}]`;
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields).sort();
  return `{${keys.map((key) => `${jsonKey(key, spend)}:${jsonKey(fields[key], spend)}`).join()}}`;
}
