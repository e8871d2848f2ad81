/** B5.3: a tool of an MCP server under a name that what forbids it would miss. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { denies } from "../../../src/app/config/agents/mcp-entries.ts";
import { mcpToolName } from "../../../src/core/mcp-names.ts";
import { toolHash } from "../../../src/machine/tool-hash.ts";
import { agentFile, agentStage, calls, DONE } from "../../support/app/cli/agent-stage.ts";
import { decideOn } from "../../support/runtime/rights/requests.ts";

const LONG_SERVER = "a".repeat(40);
const LONG_TOOL = `${"x".repeat(70)}_delete`;

/** A server and its tool, as both call themselves, and what a person writes to forbid it. */
const ATTEMPTS: [server: string, tool: string, written: string][] = [
  ["a__b", "c", "mcp__a__b__c"],
  ["a__b", "c", "mcp__a__b"],
  ["git_", "wipe", "mcp__git___wipe"],
  ["git_", "wipe", "mcp__git_"],
  ["_x", "wipe", "mcp___x__wipe"],
  ["@scope/pkg", "wipe", "mcp___scope_pkg__wipe"],
  [LONG_SERVER, "wipe", `mcp__${LONG_SERVER}`],
  [LONG_SERVER, "wipe", `mcp__${LONG_SERVER}__wipe`],
  ["s", "delete.repo", "mcp__s__delete_repo"],
  ["s", "delete.repo", "mcp__s__*_repo"],
  ["s", LONG_TOOL, "mcp__s__*_delete"],
  ["GitHub", "wipe", "mcp__github"],
  ["github", "Wipe", "mcp__github__wipe"],
  ["my-docs", "wipe", "mcp__my_docs__wipe"],
  ["github", "wipe", "mcp_github_wipe"],
];

suite("B5.3: a pattern that forbids a tool of a server by its look", () => {
  for (const [server, tool, written] of ATTEMPTS) {
    const name = mcpToolName(server, tool, toolHash);
    test(`B5.3: ${written} forbids ${name} in a rule, for all calls and for some, and in an agent file`, () => {
      const decide = (rule: string) => decideOn(["allow mcp__*", `deny ${rule}`], name, { owner: "acme" });
      assert.equal(decide(written), "deny");
      if (!written.includes("*")) assert.equal(decide(`${written}(owner=acme)`), "deny");
      assert.equal(denies({ deny: [written] }, name), true);
    });
  }
});

const TOY = join(import.meta.dirname, "../app/cli/toy-mcp-server.mjs");
const SERVER = `{ command: ${process.execPath}, args: [${TOY}], env: { EXTRA: Wipe.All } }`;
const [ADD, WIPE] = ["add.two/numbers", "Wipe.All"].map((tool) => mcpToolName("Toy_", tool, toolHash));

test("B5.3: --deny-tools, deny of an agent file and deny of the server itself forbid a tool by its look, and no other", async () => {
  await using here = await agentStage({
    "config/sous/config.yaml": `mcp_servers:\n  Toy_: ${SERVER}\n  other: ${SERVER.replace("{", "{ deny: [wipe_all],")}\n`,
    "config/sous/agents/finder.md": agentFile("finder", "deny: [MCP_toy_wipe_all]"),
  });
  const script = {
    sous: [calls(ADD ?? "", {}), calls("subagent_finder", { task: "Find." }), ...DONE],
    "sous/finder": [
      calls(WIPE ?? "", {}),
      calls(mcpToolName("other", "Wipe.All", toolHash), {}),
      calls("mcp__Toy__echo", { text: "hello" }),
      ...DONE,
    ],
  };
  const allowed = ["--allow", "mcp__*", "--allow", "subagent_finder"];
  const { results } = await here.run(script, ...allowed, "--deny-tools", "mcp__toy___add_two_numbers");
  const outputs = results.map(({ output }) => output.slice(0, 11));
  assert.deepEqual(outputs.slice(0, 4), ["Unknown too", "Unknown too", "Unknown too", "echo: hello"]);
});
