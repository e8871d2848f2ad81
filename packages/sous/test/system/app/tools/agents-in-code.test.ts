/** `sous/tools`: the built-in tools and agents of files in code, under the rights of the command line. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { builtInTools, loadAgents } from "../../../../src/agent-files.ts";
import { agent } from "../../../../src/core/agent.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { simpleTool } from "../../../support/requirements/support.ts";

const YES = { approve: () => ({ allow: true }) as const };

test("all eight tools of the command line are there, and those that change something ask", () => {
  assert.deepEqual(
    builtInTools().map(({ name, tier }) => `${name} ${tier}`),
    [
      ...["read_file observe", "list_files observe", "glob observe", "grep observe"],
      ...["write_file confirm", "edit_file confirm", "terminal confirm", "fetch confirm"],
    ],
  );
  assert.deepEqual(
    builtInTools({ only: ["terminal", "grep"] }).map(({ name }) => name),
    ["grep", "terminal"],
  );
  assert.throws(
    () => builtInTools({ only: ["gerp" as "grep"] }),
    /No built-in tool is called "gerp"; did you mean grep\?/,
  );
});

suite("agents of files", () => {
  let top = "";
  before(() => {
    top = mkdtempSync(join(tmpdir(), "sous-agents-"));
    const write = (path: string, text: string) => {
      mkdirSync(join(top, path, ".."), { recursive: true });
      writeFileSync(join(top, path), text);
    };
    write("agents/scout.md", "---\ndescription: Looks.\ntools: [read_file, terminal(ls:*)]\n---\nLook.\n");
    write("agents/boss.md", "---\ndescription: Leads.\ndeny: [fetch]\ntools: [terminal(ls:*), subagent]\n---\nLead.\n");
    write(".claude/agents/reader.md", "---\nname: reader\ndescription: Reads.\ntools: Read, Bash(ls:*)\n---\nRead.\n");
    write("plain/reader.md", "---\nname: reader\ndescription: Reads.\ntools: Read\n---\nRead.\n");
  });
  after(() => rmSync(top, { recursive: true }));

  /** What the terminal answered to the commands of the agent. */
  async function commands(folder: string, name: string, given: readonly string[]): Promise<string[]> {
    const { agents, problems } = await loadAgents({ folder, tools: builtInTools({ root: top }) });
    assert.deepEqual(problems, []);
    const definition = agents.find((each) => each.name === name);
    assert.ok(definition);
    const steps = [...given.map((command) => calls("terminal", { command })), says("Done.")];
    const outputs: string[] = [];
    const handle = run(definition.with({ model: scriptedModel({ [name]: steps }) }), "Go", YES);
    for await (const event of handle) if (event.type === "tool-call-end") outputs.push(event.output);
    await handle;
    return outputs;
  }

  for (const [folder, name] of [
    ["agents", "scout"],
    [".claude/agents", "reader"],
  ] as const) {
    test(`${folder}: a limit on calls of a tool holds in code, although a person would allow them`, async () => {
      const [allowed = "", refused = ""] = await commands(join(top, folder), name, ["ls agents", "rm -r agents"]);
      assert.match(allowed, /scout\.md/);
      assert.match(refused, /does not allow this call of terminal: not among the calls that the file allows/);
    });
  }

  test("the rules of a definition bind everything below it, and what they allow is for itself only", async () => {
    const look = simpleTool("look", () => "seen", { tier: "confirm" });
    const answers: string[] = [];
    for (const effect of ["deny", "allow"] as const) {
      const rules = { decide: () => (effect === "deny" ? { effect, reason: "the file says so" } : { effect }) };
      const child = agent({ name: "child", tools: [look] });
      const model = scriptedModel({
        lead: [calls("subagent_child", { task: "Look." }), says("Done.")],
        "lead/child": [calls("look"), says("Done.")],
      });
      // Rules that deny everything deny the child itself too.
      const ofChild =
        effect === "deny"
          ? { decide: (asked: { toolName: string }) => (asked.toolName === "look" ? rules.decide() : undefined) }
          : rules;
      const handle = run(agent({ name: "lead", model, subagents: [child], rules: ofChild }), "Go");
      for await (const event of handle)
        if (event.type === "tool-call-end" && event.toolName === "look") answers.push(event.output);
      await handle;
    }
    assert.match(answers[0] ?? "", /does not allow this call of look: the file says so/);
    assert.match(answers[1] ?? "", /needs approval, and no one can be asked/);
  });

  test("the dialect may be given, and a folder that is not there is an error", async () => {
    const { agents } = await loadAgents({ folder: join(top, "plain"), dialect: "claude" });
    assert.deepEqual(
      agents.map(({ name }) => name),
      ["reader"],
    );
    await assert.rejects(loadAgents(join(top, "nowhere")), /^UserError: There is no folder of agent files at /);
  });
});

suite("how agents of files ask their model", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sous-asking-"));
    const front = "temperature: 0.2\neffort: high\nprovider_options: { openai: { serviceTier: flex } }";
    const files = {
      scout: `${front}\ntools: [grep]\ntool_choice: grep`,
      free: "tool_choice: grep",
      empty: "tools: []\ntool_choice: required",
    };
    for (const [name, keys] of Object.entries(files))
      writeFileSync(join(folder, `${name}.md`), `---\ndescription: Works.\n${keys}\n---\nWork.\n`);
  });
  after(() => rmSync(folder, { recursive: true }));

  const askedOf = async (name: string, offered: readonly string[], asChild: boolean) => {
    const tools = offered.map((each) => simpleTool(each));
    const { agents } = await loadAgents({ folder, tools });
    const found = agents.find((each) => each.name === name);
    assert(found !== undefined);
    const asked: object[] = [];
    const model = scriptedModel(
      { lead: [calls(`subagent_${name}`, { task: "Go." }), says("Done.")], "**": [says("Done.")] },
      {
        onRequest: ({ caller, settings: { temperature, effort, toolChoice, providerOptions } }) => {
          if (caller.path !== "lead") asked.push({ temperature, effort, toolChoice, providerOptions });
        },
      },
    );
    const lead = agent({ name: "lead", model, subagents: [found], tools });
    const { status } = await run(asChild ? lead : found.with({ model, tools: found.tools ?? tools }), "Go.", YES);
    assert.equal(status, "completed");
    return JSON.parse(JSON.stringify(asked));
  };
  const said = { temperature: 0.2, effort: "high", providerOptions: { openai: { serviceTier: "flex" } } };

  for (const asChild of [true, false]) {
    test(`the options of an agent file reach its model, ${asChild ? "as children" : "as roots"}`, async () => {
      assert.deepEqual(await askedOf("scout", ["grep", "look"], asChild), [{ ...said, toolChoice: { tool: "grep" } }]);
      assert.deepEqual(await askedOf("free", ["grep"], asChild), [{ toolChoice: { tool: "grep" } }]);
    });

    test(`a tool that is not there is not forced, ${asChild ? "as children" : "as roots"}`, async () => {
      assert.deepEqual(await askedOf("scout", ["look"], asChild), [said]);
      assert.deepEqual(await askedOf("free", ["look"], asChild), [{}]);
      assert.deepEqual(await askedOf("empty", ["look"], asChild), [{}]);
    });
  }

  test("a child whose parent does not pass the tool on is not forced either", async () => {
    const { agents } = await loadAgents({ folder, tools: [simpleTool("grep")] });
    const free = agents.filter(({ name }) => name === "free");
    const model = scriptedModel({
      lead: [calls("subagent_free", { task: "Go." }), says("Done.")],
      "**": [says("Yes.")],
    });
    const outputs: string[] = [];
    await run(agent({ name: "lead", model, subagents: free, tools: [simpleTool("look")] }), "Go.", {
      ...YES,
      onEvent: (event) => event.type === "tool-call-end" && outputs.push(event.output),
    });
    assert.match(outputs.join(), /Yes\./);
  });
});
