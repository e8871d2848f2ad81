/** Addresses of the public internet (all others are this machine, this network, or reserved), and connections to checked ones. */

import { lookup } from "node:dns/promises";
import { isIP, isIPv4, isIPv6, type LookupFunction } from "node:net";

/** False for an address of a reserved network, and for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !isWithin(address.split(".").map(Number), RESERVED_V4);
  if (isIPv6(address) && !address.includes("%")) return isPublicV6(groupsOf(address));
  return false;
}

/** A network by its first address and the length of its prefix. */
type Network = { readonly first: number; readonly bits: number };

/** Reads a list such as `10.0.0.0/8 127.0.0.0/8`. */
function networks(written: string): Network[] {
  return written.split(" ").map((network) => {
    const [first = "", bits] = network.split("/");
    return { first: numberOf(first.split(".").map(Number)), bits: Number(bits) };
  });
}

/**
 * No page of the internet lies in these: this network, private ones and those that customers of a provider share, metadata
 * services of clouds, which hold keys, examples, multicast, broadcast, and what is reserved.
 */
const RESERVED_V4 = networks(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 168.63.129.16/32 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
    "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 " +
    "203.0.113.0/24 224.0.0.0/3",
);

function isWithin(bytes: readonly number[], all: readonly Network[]): boolean {
  return all.some(({ first, bits }) => numberOf(bytes) >>> (32 - bits) === first >>> (32 - bits));
}

function numberOf([a = 0, b = 0, c = 0, d = 0]: readonly number[]): number {
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** Only global unicast addresses, without those that stand for an IPv4 address, for examples or for protocols. */
function isPublicV6(groups: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  // Networks without IPv4 reach it through this prefix, so what counts is the address inside.
  if (a === 0x64 && b === 0xff9b && (c | d | e | f) === 0)
    return !isWithin([g >> 8, g & 255, h >> 8, h & 255], RESERVED_V4);
  if (a >> 13 !== 1) return false;
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false;
  if (a === 0x2002) return false;
  if (a === 0x2620 && b === 0x4f && c === 0x8000) return false;
  return !(a === 0x3fff && b < 0x1000);
}

/** Addresses of the machine's own link, and services of clouds that give keys to every program that asks from here. */
const METADATA_V4 = networks("169.254.0.0/16 168.63.129.16/32 100.100.100.200/32");

/** True for addresses that hold keys of the machine, however they are spelled. */
export function isMetadataAddress(address: string): boolean {
  if (isIPv4(address)) return isWithin(address.split(".").map(Number), METADATA_V4);
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return false;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groupsOf(plain);
  if (a >> 6 === 0xfe80 >> 6) return true;
  if (a === 0xfd00 && b === 0xec2) return true;
  if (a === 0x2002) return isWithin([b >> 8, b & 255, c >> 8, c & 255], METADATA_V4);
  const holdsV4 = (a | b | c | d | e) === 0 || (a === 0x64 && b === 0xff9b && (c | d | e | f) === 0);
  return holdsV4 && isWithin([g >> 8, g & 255, h >> 8, h & 255], METADATA_V4);
}

/** The eight groups of an address that is known to be one. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const before = groupsIn(head);
  if (tail === undefined) return before;
  const after = groupsIn(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function groupsIn(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

/** `example.com` is that host on its usual port and no other; `*.example.com` is every host below it. */
export function hostMatches(host: string, pattern: string): boolean {
  const wanted = pattern.toLowerCase().replace(/\.$/, "");
  if (wanted.startsWith("*.")) return wanted.length > 2 && host.endsWith(wanted.slice(1));
  return host === wanted;
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export type Addresses = readonly [string, ...string[]];

export async function resolveHere(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Answers every question for an address with the ones that were checked. */
export function only(addresses: Addresses): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, callback) => {
    if (wantsAll) callback(null, all);
    else callback(null, addresses[0], isIP(addresses[0]));
  };
}

export function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}
