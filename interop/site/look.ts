/** The site of the documentation: VitePress builds it without a dead link, and a browser shows it and searches in it. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, resolve } from "node:path";
import { readSiteMap } from "../../scripts/site/site-map.ts";
import type { Look } from "../external/look.ts";
import { type Browser, chromium, openBrowser } from "./browser.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SITE = join(ROOT, "site/.cache/site");

export async function lookAtSite(look: Look): Promise<void> {
  await look.during("site: build", async () => build(look));
  if (!existsSync(join(SITE, "index.html"))) return;
  const program = chromium();
  if (program === undefined) {
    console.log("NOT SEEN  the site in a browser: there is no Chromium in PATH (apt-get install chromium)");
    return;
  }
  await look.during("site: in a browser", () => lookInBrowser(look, program));
}

function build(look: Look): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "scripts/build-site.ts")], {
    encoding: "utf8",
  });
  look.at("site: it is built, and every link leads to a page and a heading", status === 0, stdout + stderr);
  if (status !== 0) return;
  const list = readFileSync(join(SITE, "llms.txt"), "utf8");
  const missing = [...list.matchAll(/\]\(([^)#]+)/g)].filter(([, page = ""]) => !existsSync(join(SITE, page)));
  look.at("site: every page of llms.txt is there as Markdown", missing.length === 0, missing);
}

async function lookInBrowser(look: Look, program: string): Promise<void> {
  await using server = await serve();
  await using browser = await openBrowser(program);
  await browser.open(`${server.address}/`);
  await browser.until("the first page", "document.querySelector('h1')?.textContent.includes('Agents that delegate')");
  const first = await browser.evaluate<Record<string, number>>(
    `({ lines: document.querySelectorAll("pre .line:not(:empty)").length, doors: document.querySelectorAll(".vp-doc li").length,
      over: document.documentElement.scrollWidth - document.documentElement.clientWidth })`,
  );
  look.at(
    "site: the first page has eight lines of code and three doors, and is not wider than the window",
    first.lines === 8 && first.doors === 3 && first.over === 0,
    first,
  );
  await search(look, browser);
  // A folder of the site, and a link to a heading of another page.
  await browser.open(`${server.address}/reference/config.html#agentsubagentmax_depth`);
  await browser.until(
    "a setting",
    "document.getElementById('agentsubagentmax_depth')?.getBoundingClientRect().top < 400",
  );
  look.at("site: a link to a setting shows that setting", true);
  const groups = await browser.evaluate<number>("document.querySelectorAll('.VPSidebar .group').length");
  look.at("site: the sidebar has the sections of the list of pages", groups === readSiteMap(ROOT).length, groups);
  const foreign = browser.requests.filter((url) => !url.startsWith(server.address) && !/^(data|about|blob):/.test(url));
  look.at("site: pages ask no other host for anything", foreign.length === 0, foreign);
  look.at("site: no page has an error", browser.errors.length === 0, browser.errors);
}

async function search(look: Look, browser: Browser): Promise<void> {
  await browser.until("the search button", "document.querySelector('.DocSearch-Button')");
  await browser.evaluate("document.querySelector('.DocSearch-Button').click()");
  await browser.until("the search field", "document.activeElement?.matches('.search-input')");
  await browser.type("Maximum subagent recursion depth");
  await browser.until("results", "document.querySelectorAll('.VPLocalSearchBox .result').length > 0");
  const found = await browser.evaluate<string[]>(
    "[...document.querySelectorAll('.VPLocalSearchBox .result')].map((result) => result.getAttribute('href'))",
  );
  look.at(
    "site: the search finds a message",
    found.some((href) => /troubleshooting/.test(href)),
    found,
  );
  const folder = process.env.SOUS_SCREENSHOTS;
  if (folder !== undefined) writeFileSync(join(folder, "search.png"), await browser.screenshot(), "base64");
  await browser.evaluate("document.querySelector('.VPLocalSearchBox .result').click()");
  await browser.until(
    "the page that was found",
    "!document.querySelector('h1')?.textContent.includes('Agents that delegate')",
  );
  look.at("site: a result of the search opens its page", true);
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".woff2": "font/woff2",
};

/** Any static host does the same. */
async function serve(): Promise<AsyncDisposable & { readonly address: string }> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    const file = join(SITE, path.endsWith("/") ? `${path}index.html` : path);
    // Chromium asks for it by itself.
    if (path === "/favicon.ico") return response.writeHead(204).end();
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(readFileSync(file));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  return {
    address: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
