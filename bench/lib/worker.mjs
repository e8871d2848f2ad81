/** One measurement in a process of its own: `node --expose-gc worker.mjs <adapter> <job> <settings>`. */

import { workloads } from "./workloads.mjs";

const [adapterFile, job, settings] = process.argv.slice(2);
const adapter = await import(new URL(`../${adapterFile}`, import.meta.url));
const figures = await workloads[job](adapter, JSON.parse(settings));
process.stdout.write(`\nFIGURES ${JSON.stringify(figures)}\n`, () => process.exit(0));
