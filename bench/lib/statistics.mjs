/** The two statistics the benchmark trusts, and the range around them. */

/** The lower of the two middle values where there are two. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/**
 * What one process needs when nobody disturbs it: a quarter of its repetitions were faster. Another program on the machine can
 * only slow it down, for seconds at a time, and then the median says more about that program.
 */
export function undisturbed(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 4)];
}

export function summarise(values) {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values), count: values.length };
}
