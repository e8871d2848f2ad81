/** The mock model every peer is given: decides what is answered on each call, and counts everything, so that a run can be checked. */

/**
 * What the mock does in one run: `turns` answers that each ask for tools, then one closing answer of text alone.
 *
 * @typedef {object} Plan
 * @property {number} turns
 * @property {number} deltas Pieces of text in every answer.
 * @property {number} latency Milliseconds before an answer begins.
 * @property {boolean} shared True for children, many of which are alive behind one model object: such a model finds its
 *   turn by the tool results in the prompt. Otherwise it counts its own calls.
 * @property {() => { name: string, input: object }[]} calls What every answer but the last asks for.
 *
 * @typedef {object} Step One answer of the mock.
 * @property {number} deltas
 * @property {{ id: string, name: string, json: string }[]} calls `json` is the input as a model would send it.
 * @property {boolean} isLast
 * @property {(() => Promise<void>) | undefined} wait To be awaited before the answer begins, if there is one.
 */

export const DELTA = "lorem ";

/** `resultsSeen` is how many tool results were in the prompt of the closing call: nothing may have been lost on the way. */
export const counters = { modelCalls: 0, toolCalls: 0, deltas: 0, resultsSeen: 0 };

/** How many model calls are waiting, and how many were at most. */
export const waiting = { now: 0, most: 0 };

/** Set by a workload: called with every model call, and awaited in the closing call of every child. */
export const hooks = {
  /** @type {(() => void) | undefined} */ onModelCall: undefined,
  /** @type {(() => Promise<void>) | undefined} */ beforeChildCloses: undefined,
};

export function resetCounters() {
  counters.modelCalls = 0;
  counters.toolCalls = 0;
  counters.deltas = 0;
  counters.resultsSeen = 0;
}

let toolText = "x".repeat(16);

/** Sets how long the result of every tool call is. */
export function setToolResultBytes(bytes) {
  toolText = "x".repeat(bytes);
}

/** The body of the one tool of the benchmark. */
export function doWork() {
  counters.toolCalls++;
  return toolText;
}

export function textOf(step) {
  return DELTA.repeat(step.deltas);
}

/** @returns {Plan} */
export function workerPlan({ turns, deltas }) {
  return { turns, deltas, latency: 0, shared: false, calls: askForWork };
}

/** @returns {Plan} */
export function childPlan({ childTurns, deltas, latency }) {
  return { turns: childTurns, deltas, latency, shared: true, calls: askForWork };
}

/**
 * @param {string} toolName How the peer calls the tool that hands a task to a child.
 * @param {(task: string) => object} inputFor
 * @returns {Plan}
 */
export function parentPlan({ turns, fan, deltas, latency }, toolName, inputFor) {
  const calls = () => Array.from({ length: fan }, (_, index) => ({ name: toolName, input: inputFor(`task ${index}`) }));
  return { turns, deltas, latency, shared: false, calls };
}

let callsMade = 0;

/**
 * @template Prompt
 * @param {Plan} plan
 * @param {(prompt: Prompt) => number} countResults Counts the tool results in a prompt of this peer's shape. Only children
 *   and closing calls are counted: otherwise the mock itself would slow down as the conversation grows.
 * @returns {{ next(prompt: Prompt): Step }}
 */
export function createBrain(plan, countResults) {
  let turnsTaken = 0;
  return {
    next(prompt) {
      counters.modelCalls++;
      hooks.onModelCall?.();
      const turn = plan.shared ? countResults(prompt) : turnsTaken++;
      const isLast = turn >= plan.turns;
      if (isLast && !plan.shared) counters.resultsSeen = countResults(prompt);
      const calls = isLast ? [] : plan.calls().map(toCall);
      return { deltas: plan.deltas, calls, isLast, wait: waitFor(plan, isLast) };
    },
  };
}

function askForWork() {
  return [{ name: "work", input: { i: 7 } }];
}

function toCall({ name, input }) {
  return { id: `call_${++callsMade}`, name, json: JSON.stringify(input) };
}

function waitFor(plan, isLast) {
  const gate = plan.shared && isLast ? hooks.beforeChildCloses : undefined;
  if (plan.latency === 0 && gate === undefined) return undefined;
  return async () => {
    waiting.now++;
    if (waiting.now > waiting.most) waiting.most = waiting.now;
    if (plan.latency > 0) await new Promise((resolve) => setTimeout(resolve, plan.latency));
    if (gate !== undefined) await gate();
    waiting.now--;
  };
}
