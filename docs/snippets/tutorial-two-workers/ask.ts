/** Runs the lead here. Its scouts are at work in the workers. */

// #region all
import { lead, runtime, store } from "./crew.ts";

const { text } = await runtime.run(lead, "How many crates do we have?", {
  onEvent(event) {
    if (event.type === "resume") console.log(`${event.path} is at work in ${event.worker}`);
  },
});
console.log(text);
await store[Symbol.asyncDispose]();
// #endregion
