/** The counts of one adapter, as JSON: `node --expose-gc --min-semi-space-size=32 --max-semi-space-size=32 exact-worker.mjs <adapter>`. */

import { countWork, measureLiveChild, measureSurvivors } from "./exact.mjs";

const adapter = await import(new URL(`../${process.argv[2]}`, import.meta.url));
const counts = await countWork(adapter);
const figures = { counts, ...(await measureLiveChild(adapter)), ...(await measureSurvivors(adapter)) };
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
