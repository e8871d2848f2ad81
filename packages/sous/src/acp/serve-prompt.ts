/** A prompt of the client as the text that a run is given. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { UserError } from "../core/errors.ts";

/** Throws a `UserError` for what cannot be read. */
export function promptText(blocks: readonly ContentBlock[]): string {
  const text = blocks.map(blockText).join("\n\n");
  if (text.trim() === "") throw new UserError("The prompt is empty: write what is to be done");
  return text;
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    case "resource": {
      const { resource } = block;
      if (!("text" in resource))
        throw new UserError(`${resource.uri} is not text: sous reads text only, so name the file instead`);
      return `<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>`;
    }
    case "image":
    case "audio":
      throw new UserError(`sous cannot read ${NAMES[block.type]} in a prompt: save it as a file and name that`);
    default:
      throw new UserError("The prompt has a part of a kind that sous does not know: send text or resources");
  }
}

const NAMES = { image: "an image", audio: "audio" } as const;
