/** The SDK of the protocol. */

export type ClientSdk = Awaited<ReturnType<typeof loadClientSdk>>;

/** Loaded with the first server. The package contains the parts that are named here, and no others. */
export async function loadClientSdk() {
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return { Client, SSEClientTransport, StreamableHTTPClientTransport };
}
