/** Runs that browsers watch: server-sent events from the store and the live run, continued after a lost connection. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AgentDefinition, createRuntime, type RunHandle, type SousEvent, type Store } from "sous";

// #region browser-event
/** Keeps what a browser may see of an event; undefined when nothing. */
function toBrowser(event: SousEvent): object | undefined {
  const { type, path } = event;
  switch (event.type) {
    case "run-start":
      return { type, path, agent: event.agent };
    case "text-delta":
      return { type, path, text: event.text };
    case "message-end":
      return {
        type,
        path,
        text: event.message.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
      };
    case "tool-call-start":
      return { type, path, tool: event.toolName }; // not its input
    case "run-end":
      return { type, path, status: event.status };
    default:
      return undefined;
  }
}
// #endregion

// #region events-after
/** Streams every event of a tree behind a number: from the store, then live. */
async function* eventsAfter(after: number, rootId: string, { store, live }: Parts): AsyncGenerator<SousEvent> {
  // Iterating begins before the store is read, so nothing is missed in between.
  const next = live.get(rootId)?.[Symbol.asyncIterator]();
  let last = after;
  const readOn = () => store.read(rootId, { after: last, limit: 100 });
  const isSpeaking = new Map<string, boolean>();
  const isNew = (event: SousEvent): boolean => {
    if (event.type === "text-delta") return isSpeaking.get(event.runId) ?? false; // else its message is known already
    if (event.type === "turn-start" || event.type === "message-end")
      isSpeaking.set(event.runId, event.type === "turn-start");
    if (event.seq === undefined || event.seq <= last) return false;
    last = event.seq;
    return true;
  };
  try {
    for (let page = await readOn(); page.length > 0; page = await readOn())
      for (const event of page) if (isNew(event)) yield event;
    for (let step = await next?.next(); step?.done === false; step = await next?.next())
      if (isNew(step.value)) yield step.value;
  } finally {
    await next?.return?.();
  }
}
// #endregion

// #region stream
async function stream(rootId: string, request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  if (!parts.live.has(rootId) && (await parts.store.run(rootId)) === undefined)
    return void response.writeHead(404).end(); // an EventSource does not connect again
  const after = Number(request.headers["last-event-id"] ?? 0);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 1000\n\n");
  const gone = new AbortController();
  const beat = setInterval(() => response.write(": still here\n\n"), 15_000);
  const events = eventsAfter(Number.isSafeInteger(after) ? after : 0, rootId, parts);
  response.on("close", () => {
    gone.abort();
    clearInterval(beat);
    void events.return(undefined);
  });
  for await (const event of events) {
    const data = toBrowser(event);
    if (data === undefined) continue;
    const id = event.seq === undefined ? "" : `id: ${event.seq}\n`;
    const isRoom = response.write(`${id}data: ${JSON.stringify(data)}\n\n`);
    if (!isRoom) await once(response, "drain", gone).catch(() => {});
  }
  response.end();
}
// #endregion

type Parts = { store: Store; live: Map<string, RunHandle> };

/** Makes the server, which does not listen yet. `POST /runs` starts a run, `GET /runs/ID` streams it. */
export function createStreamServer(lead: AgentDefinition, store: Store): Server {
  // #region live
  const runtime = createRuntime({ store });
  const live = new Map<string, RunHandle>();

  function start(task: string): string {
    const handle = runtime.run(lead, task);
    live.set(handle.id, handle);
    handle.result.catch(console.error).finally(() => live.delete(handle.id));
    return handle.id;
  }
  // #endregion

  return createServer((request, response) => {
    const id = /^\/runs\/(\w+)$/.exec(request.url ?? "")?.[1];
    if (request.method === "POST" && request.url === "/runs")
      response
        .writeHead(201, { "content-type": "application/json" })
        .end(JSON.stringify({ id: start("Look around.") }));
    else if (request.method === "GET" && id !== undefined)
      stream(id, request, response, { store, live }).catch((error) => response.destroy(error));
    else response.writeHead(404).end();
  });
}
