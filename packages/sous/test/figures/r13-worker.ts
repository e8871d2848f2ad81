/** Runs a stored tree again in a process that has no network: whatever reaches for it is counted and refused. */

import dgram from "node:dgram";
import dns from "node:dns";
import { registerHooks } from "node:module";
import net from "node:net";
import type { OfflineOrder, OfflineResult } from "./r13-replay.ts";

const order = JSON.parse(process.argv[2] ?? "") as OfflineOrder;
const reached: string[] = [];
const loaded: string[] = [];

/** Every way out of a process ends in one of these. */
function closeTheNetwork(): void {
  const refuse = (what: string) => (): never => {
    reached.push(what);
    throw new Error(`${what}: there is no network here`);
  };
  globalThis.fetch = refuse("fetch") as typeof fetch;
  net.Socket.prototype.connect = refuse("net connect") as typeof net.Socket.prototype.connect;
  dgram.Socket.prototype.bind = refuse("dgram bind") as typeof dgram.Socket.prototype.bind;
  dgram.Socket.prototype.send = refuse("dgram send") as typeof dgram.Socket.prototype.send;
  for (const name of Object.keys(dns)) {
    const key = name as "lookup";
    if (typeof dns[key] === "function" && /^(?:lookup|resolve|reverse)/.test(name))
      dns[key] = refuse(`dns ${name}`) as never;
  }
  for (const name of Object.keys(dns.promises)) {
    const key = name as "lookup";
    if (/^(?:lookup|resolve|reverse)/.test(name)) dns.promises[key] = refuse(`dns ${name}`) as never;
  }
}

closeTheNetwork();
registerHooks({
  load(url, context, nextLoad) {
    // The packages of providers; the types they share are not one of them.
    if (/\/@ai-sdk\/(?!provider\/|provider-utils\/)/.test(url)) loaded.push(url);
    return nextLoad(url, context);
  },
});

const { rerun } = await import("../../src/rerun.ts");
const { openSqliteStore } = await import("../../src/storage/store/sqlite/store.ts");
const { agentsOf, toolsOf } = await import("./r13-tree.ts");
const { seededRandom } = await import("../../src/testing/world.ts");

await using store = await openSqliteStore(order.file, { readOnly: true });
const never = () => Promise.reject(new Error("A tool has run"));
const definitions = agentsOf(toolsOf(never, seededRandom(1, "never")));
const result: OfflineResult = { reruns: [], control: [] };
for (const runId of order.runIds) {
  for (const from of ["definitions", "recording"] as const) {
    const startedAt = performance.now();
    const agents = from === "definitions" ? definitions : undefined;
    const { matches, firstDifference } = await rerun(runId, { store, agents });
    const milliseconds = Math.round(performance.now() - startedAt);
    result.reruns.push({
      runId,
      from,
      matches,
      firstDifference: firstDifference?.sentence,
      milliseconds,
      // The first one also has what loading the sources reached for.
      reached: reached.splice(0),
      loaded: loaded.splice(0),
    });
  }
}
await reachOut();
result.control.push(...reached);
process.stdout.write(JSON.stringify(result));

async function reachOut(): Promise<void> {
  const ways: (() => unknown)[] = [
    () => fetch("http://127.0.0.1:9/"),
    () => dns.promises.lookup("localhost"),
    () => net.connect(9),
  ];
  for (const way of ways)
    await Promise.resolve()
      .then(way)
      .catch(() => {});
}
