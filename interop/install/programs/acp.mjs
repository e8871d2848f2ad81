/** `sous/acp` beside another version of the SDK: an agent that is `sous acp serve`. */

import { PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { createAcpClient } from "sous/acp";

const args = [process.env.SOUS_COMMAND, "acp", "serve", "--model", "script/script.json"];
const client = createAcpClient({ servers: { sous: { command: process.execPath, args } } });
const { content } = await client.generate("Hello.");
await client.dispose();
console.log(JSON.stringify([PROTOCOL_VERSION, content]));
