/** What a person has answered with "always for this agent". Lives as long as the command, and is written nowhere. */

import type { ReadyRule } from "./policy.ts";

export type Remembered = {
  of(agentName: string): readonly ReadyRule[];
  add(rule: ReadyRule, agentName: string): void;
};

export function createRemembered(): Remembered {
  const rules = new Map<string, ReadyRule[]>();
  return {
    of: (agentName) => rules.get(agentName) ?? [],
    add: (rule, agentName) => {
      const known = rules.get(agentName) ?? [];
      const isKnown = known.some(({ effect, pattern }) => effect === rule.effect && pattern === rule.pattern);
      if (!isKnown) rules.set(agentName, [...known, rule]);
    },
  };
}
