/** The one statistic the benchmark trusts, and the range around it. */

/** The lower of the two middle values where there are two. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

export function summarise(values) {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values), count: values.length };
}
