/** What a command has opened it closes, although its process ends next: the same code serves chats, which do not end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { agentStage, DONE } from "../../../support/app/cli/agent-stage.ts";
import { type InProcess, inProcess } from "../../../support/app/cli/in-process.ts";
import { leftOver, openFilesIn, whatIsOpen } from "../../../support/left-open.ts";

const toy = (file: string, ...parameters: string[]) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, file), ...parameters],
});
const CONFIG = {
  agent_servers: { good: toy("toy-agent.mjs", "good"), dies: toy("toy-agent.mjs", "dies") },
  mcp_servers: { toy: toy("toy-mcp-server.mjs") },
};

const stage = agentStage({
  "config/sous/config.yaml": JSON.stringify(CONFIG),
  "answers.json": JSON.stringify({ "**": DONE }),
});
after(async () => (await stage)[Symbol.asyncDispose]());

/** Words in capitals stand for what the stage has. */
const COMMANDS: readonly (readonly [line: string, code: number, more?: InProcess])[] = [
  ["run Go. --model MODEL --log-file LOG", 0],
  ["run Go. --model MODEL --ephemeral", 0],
  ["run Go. --model MODEL --agent nobody", 2],
  ["run Go. --model nobody/nothing", 1],
  ["chat --model MODEL --log-file LOG", 0, { input: "Go.\n" }],
  ["chat --model MODEL --resume RUN", 0, { input: "Go.\n" }],
  ["resume RUN --fork --log-file LOG", 0],
  ["resume PAINTED", 1],
  ["stats", 0],
  ["replay --list", 0],
  ["replay --id RUN", 0],
  ["replay --tree --id RUN", 0],
  ["replay --rerun --id RUN", 0],
  ["replay --diff RUN RUN", 0],
  ["replay --id RUN --export json --output TREE --force", 0],
  ["replay --import TREE --new-ids", 0],
  ["replay --id RUN --save-cassette CASSETTE --force", 0],
  ["replay --backup COPY", 0],
  ["replay --prune 30d --yes", 0],
  ["metrics --port 0", 0, { signalAt: { text: "Metrics of", signal: "SIGINT" } }],
  ["metrics --port TAKEN", 1],
  ["doctor", 1],
  ["acp list", 0],
  ["acp check good", 0],
  ["acp check dies", 1],
  ["mcp list", 0],
  ["mcp check toy", 0],
];

const PAINTED = "01K2F8Q6ZV0000000000000001";

/** An interrupted run with a child that only a program can have. */
function paintedTree(model: string) {
  const tree = sampleTree(PAINTED);
  tree.start(PAINTED, { label: "sous", details: { model, agent: "sous" } });
  tree.start("01K2F8Q6ZV0000000000000002", { parent: PAINTED, label: "painter", details: { model, agent: "painter" } });
  return tree.events;
}

suite("a command leaves nothing open", () => {
  let copies = 0;
  let id = "";
  const taken = createServer();
  before(async () => {
    const { path, root, env } = await stage;
    const { stdout } = await inProcess(["run", "Go.", "--json", "--model", `script/${join(path, "answers.json")}`], {
      cwd: root,
      env,
    });
    id = JSON.parse(stdout).run_id;
    await using store = await openSqliteStore(join(path, "data/sous/sous.db"));
    await store.append(PAINTED, paintedTree(`script/${join(path, "answers.json")}`));
    await once(taken.listen(0, "127.0.0.1"), "listening");
  });
  after(() => taken.close());

  async function perform(line: string, more: InProcess = {}) {
    const { path, root: cwd, env } = await stage;
    copies += 1;
    const { port } = taken.address() as AddressInfo;
    const places: Readonly<Record<string, string>> = {
      ...{ MODEL: `script/${join(path, "answers.json")}`, RUN: id, PAINTED, TAKEN: String(port) },
      ...{ LOG: join(path, "run.log"), TREE: join(path, "tree.json"), CASSETTE: join(path, "run.cassette.json") },
      COPY: join(path, `copy-${copies}.db`),
    };
    const words = line.split(" ").map((word) => places[word] ?? word);
    return await inProcess(words, { cwd, env, ...more });
  }

  for (const [line, code, more] of COMMANDS) {
    test(`sous ${line} leaves nothing open`, async () => {
      const earlier = whatIsOpen();
      const ended = await perform(line, more);
      assert.deepEqual(openFilesIn((await stage).path), []);
      assert.deepEqual([ended.code, code], [code, code], ended.stderr + ended.stdout);
      assert.deepEqual(await leftOver(earlier), []);
    });
  }
});
