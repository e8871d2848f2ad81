/** Agents as MCP tools, as the client of the SDK sees them: it checks every result against the schema of its tool. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { encodeWithin } from "../../../../src/core/within.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { SCOUT, type ServeStage, sdkClient, serveStage } from "./serve-stage.ts";

type Result = {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
};

type CallingClient = Awaited<ReturnType<typeof sdkClient>>;

async function ask(client: CallingClient, name: string, task = "Find retries", onprogress?: (line: string) => void) {
  const onLine = onprogress && (({ message }: { message?: string | undefined }) => onprogress(message ?? ""));
  const options = onLine === undefined ? {} : { onprogress: onLine };
  const result = (await client.callTool({ name, arguments: { task } }, options)) as Result;
  return { ...result, text: result.content.map(({ text }) => text).join(""), data: result.structuredContent ?? {} };
}

const DELEGATES = [
  {
    text: "Asking two.",
    calls: [
      {
        tool: "parallel_subagent",
        input: { tasks: [1, 2].map((n) => ({ label: `look${n}`, task_prompt: "Look." })) },
      },
    ],
  },
  { text: "Both looked." },
];
const LOOKS = [{ wait_ms: 400, calls: [{ tool: "grep", input: { pattern: "retries" } }] }, { text: "In pay.ts." }];

const QUIET = "---\ndescription: Not for others.\nmode: primary\n---\nWork.\n";
const SCHEMA = "{ type: object, properties: { files: { type: integer } }, required: [files] }";
const COUNTER = `---\nname: counter\ndescription: Counts.\ntools: []\noutput_schema: ${SCHEMA}\n---\nCount.\n`;

function agentWith(name: string, tools: string): string {
  return `---\nname: ${name}\ndescription: Works.\ntools: [${tools}]\n---\nWork.\n`;
}

const AGENTS = {
  scout: SCOUT,
  "from-opencode/quiet": QUIET,
  counter: COUNTER,
  writer: agentWith("writer", "read_file, write_file"),
  toucher: agentWith("toucher", "terminal"),
  failing: agentWith("failing", ""),
  asking: agentWith("asking", "grep"),
  talking: agentWith("talking", ""),
};

const ASKS = { text: "Working.", calls: [{ tool: "grep", input: { pattern: "x" } }] };
const SCRIPT = {
  sous: DELEGATES,
  "sous/*": LOOKS,
  scout: [...LOOKS],
  counter: [{ text: '{"files":1}' }],
  toucher: [{ calls: [{ tool: "terminal", input: { command: "touch made" } }] }, { text: "Tried." }],
  failing: [{ text: "Half of it", error: { kind: "invalid_request", message: "The script ends here" } }],
  asking: [ASKS, ASKS, ASKS],
  talking: [{ text: "long ".repeat(40_000) }],
};

suite("sous mcp serve", () => {
  let stage: ServeStage;
  let client: CallingClient;
  before(async () => {
    stage = await serveStage(SCRIPT, AGENTS);
    client = await sdkClient(stage, "--allow", "subagent");
  });
  after(async () => {
    await client.close();
    await stage[Symbol.asyncDispose]();
  });

  test("sous mcp serve offers the root and every agent that others may call, with schemas and honest annotations", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])), {
      asking: true,
      counter: true,
      failing: true,
      scout: true,
      sous: false,
      talking: true,
      toucher: false,
      writer: false,
    });
    for (const { inputSchema, outputSchema, annotations, _meta } of tools) {
      // Claude Code would write a report of the longest kind into a file otherwise.
      assert.equal(_meta?.["anthropic/maxResultSizeChars"], 250_000);
      assert.deepEqual(inputSchema.required, ["task"]);
      assert.ok(Object.hasOwn(outputSchema?.properties ?? {}, "run_id"));
      assert.equal(annotations?.openWorldHint, true);
    }
    assert.equal(client.getServerVersion()?.name, "sous");
  });

  test("sous mcp serve refuses to start for an agent that does not exist, in one sentence", async () => {
    const { code, stderr, stdout } = await inProcess(["mcp", "serve", "--agents", "scuot"], {
      cwd: stage.project,
      env: stage.env,
    });
    assert.equal(code, 2);
    assert.match(stderr, /^error: Unknown agent scuot; did you mean scout\? sous agents list shows [^\n]*\n$/);
    assert.equal(stdout, "");
  });

  test("a call is a stored run of that agent, and its report is in the text and in the object", async () => {
    const { text, data, isError } = await ask(client, "scout");
    assert.equal(isError, undefined);
    assert.equal(text, "In pay.ts.");
    const { status, result, turns, tool_count, children, truncated } = data;
    assert.deepEqual(
      { status, result, turns, tool_count, children, truncated },
      { status: "completed", result: text, turns: 2, tool_count: 1, children: 0, truncated: false },
    );
    const run = (await stage.runs()).find(({ id }) => id === data.run_id);
    assert.deepEqual([run?.path, run?.status], ["scout", "completed"]);
  });

  test("a tree of agents answers with progress that names the child and what it does", async () => {
    const lines: string[] = [];
    const { text, data } = await ask(client, "sous", "Look twice", (line) => lines.push(line));
    assert.equal(text, "Both looked.");
    assert.equal(data.children, 2);
    assert.equal(data.tool_count, 3);
    assert.ok(
      lines.some((line) => /^look[12]: grep retries/.test(line)),
      lines.join("\n"),
    );
  });

  test("an action that no rule allows is refused, and the text says how to allow it", async () => {
    const { text, data, isError } = await ask(client, "toucher");
    assert.equal(isError, true);
    assert.match(text, /^Tried\.\n\nerror: 1 action needed consent .*terminal touch made .*--allow/);
    assert.match(text, /options of sous mcp serve; permissions in your configuration/);
    assert.deepEqual([data.status, data.stop_reason], ["incomplete", "consent"]);
    assert.deepEqual(data.denied, [{ path: "toucher", tool_name: "terminal" }]);
  });

  test("a run that fails is an error with its partial text and the object", async () => {
    const failed = await ask(client, "failing");
    assert.equal(failed.isError, true);
    assert.match(failed.text, /error: .*The script ends here\nrun \w+: failed$/s);
    assert.equal(failed.data.status, "failed");
  });

  test("an agent with an output schema answers with its object", async () => {
    const { text, data } = await ask(client, "counter");
    assert.deepEqual(data.output, { files: 1 });
    assert.deepEqual(JSON.parse(text), { files: 1 });
  });

  test("a long report is cut in its middle, and the object says so", async () => {
    const { text, data } = await ask(client, "talking");
    assert.equal(data.truncated, true);
    assert.match(text, /bytes were cut here/);
    assert.ok(text.length < 110_000);
  });
});

suite("the options of sous mcp serve", () => {
  test("a rule and a limit of the command line hold for each call by itself", async () => {
    const answer = { text: "Done.", usage: { input: 4000, output: 1000 } };
    await using stage = await serveStage({ ...SCRIPT, scout: [answer] }, AGENTS);
    const limits = ["--max-turns", "2", "--max-tokens-total", "12000"];
    await using client = await sdkClient(stage, "--allow", "terminal(touch *)", ...limits);
    assert.equal((await ask(client, "toucher")).data.status, "completed");
    const over = await ask(client, "asking");
    assert.equal(over.isError, true);
    assert.match(over.text, /^Working\.\n\nwarning: the run is out of turns/);
    assert.deepEqual([over.data.status, over.data.stop_reason], ["incomplete", "turns"]);
    for (const _ of [1, 2, 3]) assert.equal((await ask(client, "scout")).data.status, "completed");
  });

  test("a mistake that comes before the run is an error result, and the server stays up with the agents that were named", async () => {
    await using stage = await serveStage({ scout: [{ text: "Fine." }] }, AGENTS);
    await using client = await sdkClient(stage, "--agents", "quiet,scout", "--tools", "nonsense");
    const { text, isError, data } = await ask(client, "scout");
    assert.equal(isError, true);
    assert.match(text, /^error: Unknown tool nonsense/);
    assert.equal(data.run_id, null);
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ["quiet", "scout"],
    );
  });
});

suite("sous mcp serve within an outer run", () => {
  test("the limits of an outer run hold for all calls together", async () => {
    const answer = { text: "Done.", usage: { input: 4000, output: 1000 } };
    await using stage = await serveStage({ scout: [answer] });
    const allowance = { depth: 1, maxDepth: 3, tokens: 12_000, costUsd: undefined, durationMs: undefined };
    const within = { ...stage, env: { ...stage.env, SOUS_WITHIN: encodeWithin(allowance) } };
    await using client = await sdkClient(within);
    const statuses: unknown[] = [];
    for (const _ of [1, 2, 3, 4]) statuses.push((await ask(client, "scout")).data.status);
    assert.equal(statuses[0], "completed");
    assert.equal(statuses.at(-1), "budget_exceeded", statuses.join(", "));
  });

  test("a call that would be deeper than the outer run may be is refused", async () => {
    await using stage = await serveStage({ scout: [{ text: "Done." }] });
    const allowance = { depth: 4, maxDepth: 3, tokens: undefined, costUsd: undefined, durationMs: undefined };
    const within = { ...stage, env: { ...stage.env, SOUS_WITHIN: encodeWithin(allowance) } };
    await using client = await sdkClient(within);
    const { text, data } = await ask(client, "scout");
    assert.match(text, /The outer run may be 3 levels deep, and this call would be level 4/);
    assert.notEqual(data.status, "completed");
  });
});
