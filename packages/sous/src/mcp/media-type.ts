/** What a file is by its first bytes. Providers refuse the whole request when a file is not what it is called. */

/** Of the first bytes; `.` is any byte. */
const BEGINNINGS: readonly [mediaType: string, begins: string][] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF8"],
  ["image/webp", "RIFF....WEBP"],
  ["application/pdf", "%PDF-"],
  ["audio/wav", "RIFF....WAVE"],
  ["audio/ogg", "OggS"],
  ["audio/flac", "fLaC"],
  ["audio/webm", "\x1a\x45\xdf\xa3"],
  ["audio/mpeg", "ID3"],
  ["audio/aac", "\xff\xf1"],
  ["audio/aac", "\xff\xf9"],
  ["audio/mpeg", "\xff\xfb"],
  ["audio/mpeg", "\xff\xf3"],
  ["audio/mpeg", "\xff\xf2"],
  ["audio/mpeg", "\xff\xfa"],
];

/** Undefined for what no provider takes. */
export function mediaTypeOf(base64: string): string | undefined {
  const first = Buffer.from(base64.slice(0, 32), "base64").toString("latin1");
  const [found] =
    BEGINNINGS.find(([, begins]) => [...begins].every((byte, at) => byte === "." || first[at] === byte)) ?? [];
  return found;
}
