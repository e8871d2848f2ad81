/** Agents as MCP tools, as the client of the SDK sees them: it checks every result against the schema of its tool. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { encodeWithin } from "../../../../src/core/within.ts";
import { sous } from "../../../support/app/cli/sous-process.ts";
import { SCOUT, sdkClient, serveStage } from "./serve-stage.ts";

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

suite("sous mcp serve", () => {
  test("sous mcp serve offers the root and every agent that others may call, with schemas and honest annotations", async () => {
    const quiet = "---\ndescription: Not for others.\nmode: primary\n---\nWork.\n";
    const writer = "---\nname: writer\ndescription: Writes.\ntools: [read_file, write_file]\n---\nWork.\n";
    await using stage = await serveStage({}, { scout: SCOUT, "from-opencode/quiet": quiet, writer });
    await using all = await sdkClient(stage);
    const { tools } = await all.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), ["scout", "sous", "writer"]);
    assert.deepEqual(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])), {
      scout: true,
      sous: false,
      writer: false,
    });
    for (const { inputSchema, outputSchema, annotations, _meta } of tools) {
      // Claude Code would write a report of the longest kind into a file otherwise.
      assert.equal(_meta?.["anthropic/maxResultSizeChars"], 250_000);
      assert.deepEqual(inputSchema.required, ["task"]);
      assert.ok(Object.hasOwn(outputSchema?.properties ?? {}, "run_id"));
      assert.equal(annotations?.openWorldHint, true);
    }
    assert.equal(all.getServerVersion()?.name, "sous");
    await using some = await sdkClient(stage, "--agents", "quiet,scout");
    assert.deepEqual(
      (await some.listTools()).tools.map(({ name }) => name),
      ["quiet", "scout"],
    );
  });

  test("sous mcp serve refuses to start for an agent that does not exist, in one sentence", async () => {
    await using stage = await serveStage({});
    const { code, stderr, stdout } = await sous(["mcp", "serve", "--agents", "scuot"], {
      cwd: stage.project,
      env: stage.env,
    });
    assert.equal(code, 2);
    assert.match(stderr, /^error: Unknown agent scuot; did you mean scout\? sous agents list shows [^\n]*\n$/);
    assert.equal(stdout, "");
  });

  test("a call is a stored run of that agent, and its report is in the text and in the object", async () => {
    await using stage = await serveStage({ scout: [...LOOKS] });
    await using client = await sdkClient(stage, "--agents", "scout");
    const { text, data, isError } = await ask(client, "scout");
    assert.equal(isError, undefined);
    assert.equal(text, "In pay.ts.");
    const { status, result, turns, tool_count, children, truncated } = data;
    assert.deepEqual(
      { status, result, turns, tool_count, children, truncated },
      { status: "completed", result: text, turns: 2, tool_count: 1, children: 0, truncated: false },
    );
    const [run] = await stage.runs();
    assert.deepEqual([run?.id, run?.path, run?.status], [data.run_id, "scout", "completed"]);
  });

  test("a tree of agents answers with progress that names the child and what it does", async () => {
    await using stage = await serveStage({ sous: DELEGATES, "sous/*": LOOKS });
    await using client = await sdkClient(stage, "--agents", "sous", "--allow", "subagent");
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

  test("what no rule allows is refused, and the text says how to allow it", async () => {
    const touch = [{ calls: [{ tool: "terminal", input: { command: "touch made" } }] }, { text: "Tried." }];
    await using stage = await serveStage({ sous: touch });
    {
      await using client = await sdkClient(stage);
      const { text, data, isError } = await ask(client, "sous");
      assert.equal(isError, true);
      assert.match(text, /^Tried\.\n\nerror: 1 action needed consent .*terminal touch made .*--allow/);
      assert.match(text, /options of sous mcp serve; permissions in your configuration/);
      assert.deepEqual([data.status, data.stop_reason], ["incomplete", "consent"]);
      assert.deepEqual(data.denied, [{ path: "sous", tool_name: "terminal" }]);
    }
    await using client = await sdkClient(stage, "--allow", "terminal(touch *)");
    assert.equal((await ask(client, "sous")).data.status, "completed");
  });

  test("a run that fails or reaches a limit is an error with its partial text and the object", async () => {
    const fails = { text: "Half of it", error: { kind: "invalid_request", message: "The script ends here" } };
    const asks = { text: "Working.", calls: [{ tool: "grep", input: { pattern: "x" } }] };
    await using stage = await serveStage({ scout: [fails], sous: [asks, asks, asks] });
    await using client = await sdkClient(stage, "--max-turns", "1");
    const failed = await ask(client, "scout");
    assert.equal(failed.isError, true);
    assert.match(failed.text, /error: .*The script ends here\nrun \w+: failed$/s);
    assert.equal(failed.data.status, "failed");
    const over = await ask(client, "sous");
    assert.equal(over.isError, true);
    assert.match(over.text, /^Working\.\n\nwarning: the run is out of turns/);
    assert.deepEqual([over.data.status, over.data.stop_reason], ["incomplete", "turns"]);
  });

  test("an agent with an output schema answers with its object", async () => {
    const schema = "{ type: object, properties: { files: { type: integer } }, required: [files] }";
    const counter = `---\nname: counter\ndescription: Counts.\ntools: []\noutput_schema: ${schema}\n---\nCount.\n`;
    await using stage = await serveStage({ counter: [{ text: '{"files":1}' }] }, { counter });
    await using client = await sdkClient(stage);
    const { text, data } = await ask(client, "counter");
    assert.deepEqual(data.output, { files: 1 });
    assert.deepEqual(JSON.parse(text), { files: 1 });
  });

  test("a mistake that comes before the run is an error result, and the server stays up", async () => {
    await using stage = await serveStage({ scout: [{ text: "Fine." }] });
    await using client = await sdkClient(stage, "--tools", "nonsense");
    const { text, isError, data } = await ask(client, "scout");
    assert.equal(isError, true);
    assert.match(text, /^error: Unknown tool nonsense/);
    assert.equal(data.run_id, null);
    assert.equal((await client.listTools()).tools.length, 2);
  });

  test("a long report is cut in its middle, and the object says so", async () => {
    await using stage = await serveStage({ scout: [{ text: "long ".repeat(40_000) }] });
    await using client = await sdkClient(stage);
    const { text, data } = await ask(client, "scout");
    assert.equal(data.truncated, true);
    assert.match(text, /bytes were cut here/);
    assert.ok(text.length < 110_000);
  });

  test("limits hold for each call; those of an outer run for all calls together", async () => {
    const answer = { text: "Done.", usage: { input: 4000, output: 1000 } };
    await using stage = await serveStage({ scout: [answer] });
    {
      await using client = await sdkClient(stage, "--max-tokens-total", "12000");
      for (const _ of [1, 2, 3]) assert.equal((await ask(client, "scout")).data.status, "completed");
    }
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
