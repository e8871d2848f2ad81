/** A worker: takes what is placed, until it is stopped. Two of them share the work. */

// #region all
import { runtime, store } from "./crew.ts";

const [, , name = "worker"] = process.argv;
const worker = await runtime.work({
  name,
  places: 2,
  async onRun({ runId, state }) {
    console.log(`${name}: ${state} ${(await store.run(runId))?.path}`);
  },
});
console.log(`${name}: process ${process.pid} is ready`);

async function stop(): Promise<void> {
  await worker.stop();
  await store[Symbol.asyncDispose]();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
// #endregion
