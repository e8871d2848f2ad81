/** Starts the program of one server, shakes hands, and says what it can do. Sends no prompt. */

import type { AcpAgent } from "../../../bridges/acp/client-types.ts";
import { ModelError, messageOf, ToolFailure, UserError } from "../../../core/errors.ts";
import type { Programs } from "../../../core/process.ts";
import type { AgentServer } from "../../config/configuration.ts";

export type CheckedServer = {
  readonly server: AgentServer;
  /** The path of its program; undefined when it is not found. */
  readonly program: string | undefined;
  /** The agent's answer to the handshake, with the time from the start of the program to it. */
  readonly answer: (AcpAgent & { readonly handshakeMs: number }) | undefined;
  /** The modes and models of a session, when one was opened. */
  readonly choices: { readonly modes: readonly string[]; readonly models: readonly string[] } | undefined;
  /** The problem, and what to do. */
  readonly problem: string | undefined;
};

type CheckOptions = {
  readonly programs: Programs;
  readonly cwd: string;
  /** Without one, only the handshake is made. */
  readonly opensSession: boolean;
  /** The time a program may take to answer; 30 seconds when unset. */
  readonly startMs?: number | undefined;
};

/** Never rejects for what is wrong with the server. */
export async function checkServer(server: AgentServer, options: CheckOptions): Promise<CheckedServer> {
  const { programs } = options;
  const program = await programs.find(server.command);
  const found = { server, program, answer: undefined, choices: undefined };
  if (program === undefined) return { ...found, problem: notFound(server) };
  try {
    return { ...found, ...(await startedServer(server, options)) };
  } catch (error) {
    if (!isTold(error)) throw error;
    return { ...found, problem: messageOf(error) };
  }
}

/** True for a mistake of the server; anything else is ours. */
function isTold(error: unknown): boolean {
  return error instanceof UserError || error instanceof ModelError || error instanceof ToolFailure;
}

function notFound({ name, command }: AgentServer): string {
  return `The program ${command} of the agent server ${name} is not found in PATH, where those of the project do not count. Install it, or give its absolute path as command`;
}

type Started = Pick<CheckedServer, "answer" | "choices" | "problem">;

async function startedServer(
  server: AgentServer,
  { programs, cwd, opensSession, startMs }: CheckOptions,
): Promise<Started> {
  const [{ DEFAULT_DEADLINES, startAgent }, { systemClock }] = await Promise.all([
    import("../../../bridges/acp/agent.ts"),
    import("../../../machine/host.ts"),
  ]);
  const agent = await startAgent({
    server,
    programs,
    clock: systemClock,
    deadlines: { ...DEFAULT_DEADLINES, startMs: startMs ?? DEFAULT_DEADLINES.startMs },
    cwd,
    environment: {},
    lent: { read: false, write: false, terminal: false },
  });
  try {
    const { describeAgent } = await import("../../../bridges/acp/client-types.ts");
    const answer = { ...describeAgent(agent), handshakeMs: agent.handshakeMs };
    if (!opensSession) return { answer, choices: undefined, problem: undefined };
    const session = await choicesOf(agent, server, cwd).catch((error: unknown) => {
      if (isTold(error)) return { choices: undefined, problem: messageOf(error) };
      throw error;
    });
    return { answer, ...session };
  } finally {
    await agent.close();
  }
}

type Agent = Awaited<ReturnType<typeof import("../../../bridges/acp/agent.ts")["startAgent"]>>;

/** Opens a session and compares what it offers with what is configured. */
async function choicesOf(
  agent: Agent,
  { name, defaultMode, model }: AgentServer,
  cwd: string,
): Promise<Pick<CheckedServer, "choices" | "problem">> {
  const [{ newSessionResult }, { modelRequest, modeRequest }] = await Promise.all([
    import("../../../bridges/acp/schema.ts"),
    import("../../../bridges/acp/choices.ts"),
  ]);
  const { data } = newSessionResult.safeParse(await agent.request("session/new", { cwd, mcpServers: [] }));
  if (data === undefined)
    return { choices: undefined, problem: `The agent server ${name} gave no valid answer to session/new: update it` };
  const optionsOf = (category: string): string[] =>
    data.configOptions
      .filter((each) => each.category === category)
      .flatMap(({ options }) => options.map(({ value }) => value));
  const choices = {
    modes: [...new Set([...(data.modes?.availableModes.map(({ id }) => id) ?? []), ...optionsOf("mode")])],
    models: optionsOf("model"),
  };
  try {
    if (model !== undefined) modelRequest(name, data, model);
    if (defaultMode !== undefined) modeRequest(name, data, defaultMode);
    return { choices, problem: undefined };
  } catch (error) {
    return { choices, problem: messageOf(error) };
  }
}
