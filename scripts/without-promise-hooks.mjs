/**
 * Preloaded by the processes of `npm test`: the test runner does not follow promises. It follows them to name the test whose
 * promise nobody handled, which takes up to a fifth of the time of all tests. Without it such a promise fails its file; the
 * file alone, `npm test -- file`, names the test.
 */

import asyncHooks from "node:async_hooks";

const { createHook } = asyncHooks;
/** The runner is the first that asks for a hook. */
asyncHooks.createHook = (callbacks) => {
  asyncHooks.createHook = createHook;
  return createHook({ ...callbacks, trackPromises: false });
};
