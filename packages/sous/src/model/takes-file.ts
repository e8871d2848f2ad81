/** Which files of tool results a provider takes: it refuses a whole request for one that it does not. */

import type { FilePart } from "../core/message.ts";

/** Pictures that no provider takes, or only some. */
const OTHER_PICTURES = /^image\/(?:svg|bmp|x-|tiff|vnd\.|avif|heic|heif)/;

/** `provider` as the AI SDK names it. Pictures and PDF are for all; Gemini hears and sees the rest. */
export function takesFile(provider: string, mediaType: string): boolean {
  if (mediaType === "application/pdf") return true;
  if (mediaType.startsWith("image/")) return !OTHER_PICTURES.test(mediaType);
  return provider.startsWith("google.") && /^(?:audio|video)\//.test(mediaType);
}

/** What the model reads in place of a file that it cannot take. */
export function notShown({ mediaType, filename, data }: FilePart): string {
  const name = filename === undefined ? "" : ` ${filename}`;
  const isAddress = /^https?:/.test(data);
  const size = isAddress ? "" : `, ${Math.ceil((data.length * 3) / 4 / 1024)} KB`;
  return `[The file${name} (${mediaType}${size}) is not shown: this model does not take files of this type.]`;
}
