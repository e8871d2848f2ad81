/** Fills a database for W8: `node keep-runs.mjs <file> <runs>`, in trees of ten, spread over the last thirty days. */

import { openSqliteStore } from "../../packages/sous/dist/sqlite.js";
import { answerOf, callOf, endOf, identityOf, resultOf, startOf, toolCallOf, turnOf } from "./sample-runs.mjs";

const CHILDREN = 9;
const HOUR_MS = 3_600_000;
const SPAN_MS = 30 * 24 * HOUR_MS;
/** The fence of trees that nobody works on. */
const NO_OWNER = 0;

const [file, runs] = process.argv.slice(2);
const trees = Math.ceil(Number(runs) / (CHILDREN + 1));
const newest = Date.now() - HOUR_MS;
const store = await openSqliteStore(file);
for (let tree = 0; tree < trees; tree++) {
  const events = eventsOfTree(tree, newest - Math.floor((SPAN_MS * (trees - 1 - tree)) / trees));
  store.append(events[0].runId, events, NO_OWNER);
}
await store[Symbol.asyncDispose]();
console.log(idOf(Math.floor(trees / 2), 0));

/** A root, eight children that do their work and one that fails. */
function eventsOfTree(tree, time) {
  const events = [];
  const add = (body) => events.push({ seq: events.length + 1, time: time + events.length, ...body });
  const root = identityOf(idOf(tree, 0), "lead");
  const call = toolCallOf("call_1", { part: "all of it" });
  add(startOf(root, `Look into matter ${tree}`));
  add(turnOf(root, 1));
  add(answerOf(root, 1, "I ask nine.", [call]));
  add(callOf(root, "call_1", call.input));
  for (let index = 1; index <= CHILDREN; index++) {
    const child = identityOf(idOf(tree, index), `scout#${index}`, root);
    add(startOf(child, `Part ${index} of matter ${tree}`));
    add(turnOf(child, 1));
    add(answerOf(child, 1, "Nothing is wrong here."));
    add(endOf(child, index === CHILDREN ? "failed" : "completed", "Nothing is wrong here."));
  }
  add(resultOf(root, "call_1", "Nine reports."));
  add(turnOf(root, 2));
  add(answerOf(root, 2, "All is well."));
  add(endOf(root, "completed", "All is well."));
  return events;
}

/** As long as an id of sous, and in the same order as the runs. */
function idOf(tree, index) {
  const number = (tree * (CHILDREN + 1) + index).toString(32).toUpperCase();
  return `01K${number.padStart(23, "0")}`;
}
