/** Asks the worker in the file that is named, in workerd, and prints both answers. */

import { Miniflare } from "miniflare";

const worker = new Miniflare({
  modules: true,
  scriptPath: process.argv[2],
  compatibilityDate: process.argv[3],
  compatibilityFlags: ["nodejs_compat"],
});
for (const path of ["tree", "spans"])
  console.log(await (await worker.dispatchFetch(`http://localhost/${path}`)).text());
await worker.dispose();
