/**
 * The client that the conformance suite starts: `sous run` with a server at the address that the suite appends. A script of
 * answers is its model, and calls the tool of the scenario.
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeHome, SOUS } from "./home.ts";

/** What the model calls in each scenario: the suite's server offers these tools. */
const CALLS: Record<string, { tool: string; input: object }[]> = {
  initialize: [],
  tools_call: [{ tool: "mcp__conformance__add_numbers", input: { a: 5, b: 3 } }],
  "sse-retry": [{ tool: "mcp__conformance__test_reconnection", input: {} }],
};

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const url = process.argv.at(-1);
const calls = CALLS[scenario];
if (calls === undefined) throw new Error(`There is nothing to call in the scenario ${scenario}`);
using home = makeHome("http://127.0.0.1:1");
home.configure({
  mcp_servers: { conformance: { url } },
  permissions: [{ allow: "mcp__conformance__*" }],
});
const answers = join(home.folder, "answers.json");
writeFileSync(answers, JSON.stringify({ sous: [...(calls.length === 0 ? [] : [{ calls }]), { text: "Done." }] }));
const [program = "", ...words] = SOUS;
const { status } = spawnSync(program, [...words, "run", "Go.", "--model", `script/${answers}`], {
  cwd: home.cwd,
  env: home.env,
  stdio: ["ignore", "inherit", "inherit"],
});
process.exitCode = status ?? 1;
