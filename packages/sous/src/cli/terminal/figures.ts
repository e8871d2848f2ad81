/** Numbers as people read them: short, and the same everywhere. */

/** `0.4s`, `58s`, `1m12s`, `2h05m`. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m${pad(whole % 60)}s`;
  return `${Math.floor(minutes / 60)}h${pad(minutes % 60)}m`;
}

/** `950 tok`, `48.2k tok`, `1.3M tok`; `~` before what was estimated. */
export function tokens(count: number, isEstimated: boolean): string {
  const mark = isEstimated ? "~" : "";
  if (count < 1000) return `${mark}${count} tok`;
  if (count < 999_950) return `${mark}${(count / 1000).toFixed(1)}k tok`;
  return `${mark}${(count / 1_000_000).toFixed(1)}M tok`;
}

/** `$0.09`; empty when nothing was spent, `$?` when the price is unknown. */
export function cost(dollars: number | null): string {
  if (dollars === null) return "$?";
  if (dollars === 0) return "";
  return dollars < 0.005 ? "<$0.01" : `$${dollars.toFixed(2)}`;
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
