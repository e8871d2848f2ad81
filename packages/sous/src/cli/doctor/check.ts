/** One thing that `sous doctor` looked at: whether it is well, what was found, and what to do about it. */

export type CheckState = "ok" | "warning" | "problem";

export type Check = {
  readonly name: string;
  readonly state: CheckState;
  readonly found: string;
  /** What to do, unless all is well. */
  readonly fix?: string | undefined;
};

export function ok(name: string, found: string): Check {
  return { name, state: "ok", found };
}

export function warning(name: string, found: string, fix: string): Check {
  return { name, state: "warning", found, fix };
}

export function problem(name: string, found: string, fix: string): Check {
  return { name, state: "problem", found, fix };
}

/** The worst of them. */
export function stateOf(checks: readonly Check[]): CheckState {
  if (checks.some(({ state }) => state === "problem")) return "problem";
  return checks.some(({ state }) => state === "warning") ? "warning" : "ok";
}
