/** Connections to addresses that were checked: a name is resolved once, and nothing resolves it again. */

import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";

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
