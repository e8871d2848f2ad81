/** Leaves the whole tree to the workers, and ends. */

// #region all
import { lead, runtime, store } from "./crew.ts";

const { id } = await runtime.submit(lead, "How many crates do we have?");
console.log(id);
await store[Symbol.asyncDispose]();
// #endregion
