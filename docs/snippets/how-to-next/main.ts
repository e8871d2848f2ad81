/** A route handler as Next.js calls it: a request in, a streamed response out. */

// #region route
import { agent, run } from "sous";
import { says, scriptedModel } from "sous/testing";

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel({ guide: () => says("Bring an umbrella.") });
const guide = agent({ name: "guide", model });

export async function POST(request: Request): Promise<Response> {
  const { task } = (await request.json()) as { task: string };
  const handle = run(guide, task, { signal: request.signal, budget: { durationMs: 60_000 } });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for await (const event of handle) {
        if (event.type === "text-delta") controller.enqueue(encoder.encode(event.text));
      }
      const { status } = await handle.result;
      if (status === "completed") controller.close();
      else controller.error(new Error(`The run ended as ${status}.`));
    },
  });
  return new Response(body);
}
// #endregion

const body = JSON.stringify({ task: "What is the weather in Oslo?" });
const response = await POST(new Request("http://localhost/api/ask", { method: "POST", body }));
console.log(response.status, await response.text());
