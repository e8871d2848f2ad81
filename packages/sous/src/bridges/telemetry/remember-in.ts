/** A map with a bound. */

/** Keeps the latest `most`. */
export function rememberIn<Value>(map: Map<string, Value>, name: string, value: Value, most: number): void {
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
