/** The packages that are installed beside sous, in exact versions: the result must be the same tomorrow. */

const VERSIONS = {
  "@agentclientprotocol/sdk": "0.4.5",
  "@azure/monitor-opentelemetry": "1.20.0",
  "@modelcontextprotocol/sdk": "1.17.5",
  // Newer ones are refused by the SDK 2.
  "@opentelemetry/api": "1.9.1",
  "@opentelemetry/sdk-node": "0.205.0",
  "@opentelemetry/sdk-trace-base": "2.12.1",
  "@opentelemetry/sdk-trace-node": "2.12.0",
  "@traceloop/node-server-sdk": "0.27.0",
  "@vercel/otel": "2.1.3",
  "@types/node": "24.19.2",
  esbuild: "0.28.2",
  inngest: "4.24.0",
  miniflare: "4.20260730.0",
  next: "16.4.6",
  pg: "8.11.5",
  react: "19.3.1",
  "react-dom": "19.3.1",
  typescript: "7.0.2",
  vite: "8.3.8",
  // The oldest that sous takes.
  zod: "4.2.0",
} as const;

export type PackageName = keyof typeof VERSIONS;

/** As `npm install` takes it: `next@16.4.6`. */
export function pinned(name: PackageName): string {
  return `${name}@${VERSIONS[name]}`;
}
