/** Texts that look like a secret without being known, and texts that do not. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "../../../../src/runtime/secrets/redact.ts";
import { MADE_UP_KEYS, madeUpPrivateKey, randomText } from "../../../support/runtime/secrets/made-up-keys.ts";

const redactor = createRedactor([]);

function shown(text: string): string {
  return redactor.text(text);
}

/** Where keys are found: the key stands for `@`. */
const PLACES = [
  "@",
  "The key is @.",
  "KEY=@",
  "export MY_KEY='@'",
  '{"key":"@"}',
  '{"log":"first line\\n@\\nlast line"}',
  '{"log":"\\u0022@\\u0022"}',
  "curl https://a.example/?key=@&x=1",
  "?q=a%20@",
  "src/settings.ts:12:const key = `@`;",
  "\u001b[01;31m\u001b[K@\u001b[m",
  "\u001b[32m@\u001b[0m",
  "<@>",
  "a…@",
  "é@é",
  "log-@",
  "key_@",
];

suite("B3.3: a token of a known shape", () => {
  for (const [name, key] of MADE_UP_KEYS) {
    test(`a token of a known shape is called ${name}: ${key.slice(0, 8)}…`, () => {
      for (const place of PLACES) {
        assert.equal(shown(place.replace("@", () => key)), place.replace("@", `[redacted: ${name}]`));
      }
    });
  }

  test("a token of a known shape is found wherever it begins in a text", () => {
    fc.assert(
      fc.property(fc.constantFrom(...MADE_UP_KEYS), fc.string(), fc.string(), ([, key], before, after) => {
        assert.ok(!shown(`${before} ${key} ${after}`).includes(key));
      }),
    );
  });

  test("a token of a known shape goes as a whole when more of it follows than the shape asks for", () => {
    const [, key = ""] = MADE_UP_KEYS.find(([name]) => name === "Anthropic key") ?? [];
    assert.equal(shown(`${key}${randomText("more", 3_000)} end`), "[redacted: Anthropic key] end");
  });

  test("a token of a known shape is marked by the name of its variable when that is known", () => {
    for (const [, key] of MADE_UP_KEYS)
      assert.equal(createRedactor([{ name: "MY_KEY", value: key }]).text(`= ${key} .`), "= [redacted: MY_KEY] .");
  });
});

suite("B3.3: a private key", () => {
  for (const kind of ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]) {
    test(`a private key that begins with BEGIN ${kind}PRIVATE KEY goes as a block`, () => {
      const key = madeUpPrivateKey(kind);
      assert.equal(shown(`before\n${key}\nafter`), "before\n[redacted: private key]\nafter");
      assert.equal(shown(JSON.stringify({ key })), '{"key":"[redacted: private key]"}');
    });
  }

  test("a private key goes as far as it is there when its end was cut off, with line numbers too", () => {
    const key = madeUpPrivateKey();
    for (const end of [120, 200, 333, 400]) assert.equal(shown(`a ${key.slice(0, end)}`), "a [redacted: private key]");
    const numbered = key.split("\n").map((line, index) => `${index + 1}\t${line}`);
    assert.equal(shown(numbered.slice(0, 6).join("\n")), "1\t[redacted: private key]");
    const lines = key.split("\n").slice(0, 4);
    assert.equal(shown(`${lines.join("\n")}\n\nThat was all.`), "[redacted: private key]\n\nThat was all.");
  });

  test("a private key goes with the notes about how it is encrypted", () => {
    const [first, ...rest] = madeUpPrivateKey().split("\n");
    const notes = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""];
    assert.equal(shown([first, ...notes, ...rest.slice(0, 4)].join("\n")), "[redacted: private key]");
  });
});

suite("B3.3: credentials", () => {
  test("credentials in a header go, and the header stays", () => {
    const token = randomText("opaque", 40);
    assert.equal(shown(`Authorization: Bearer ${token}`), "Authorization: Bearer [redacted: bearer token]");
    assert.equal(
      shown(`-H 'authorization: bearer a.b~${token}=='`),
      "-H 'authorization: bearer [redacted: bearer token]'",
    );
    const basic = btoa("bob:open sesame");
    assert.equal(shown(`Authorization: Basic ${basic}`), "Authorization: Basic [redacted: credentials]");
    assert.equal(shown(`{"Authorization":"Basic ${basic}"}`), '{"Authorization":"Basic [redacted: credentials]"}');
    const notBase64 = "Authorization: Basic instructions";
    assert.equal(shown(`${notBase64}1`), `${notBase64}1`);
  });

  test("credentials in an address lose the password, whatever it is made of", () => {
    assert.equal(
      shown("postgres://bob:hunter2@db.example:5432/app"),
      "postgres://bob:[redacted: password]@db.example:5432/app",
    );
    assert.equal(shown("redis://:pa$$w@rd@cache:6379"), "redis://:[redacted: password]@cache:6379");
    assert.equal(
      shown("clone https://x-access-token:abc123@git.example/a/b and http://c:d9@e/f"),
      "clone https://x-access-token:[redacted: password]@git.example/a/b and http://c:[redacted: password]@e/f",
    );
  });
});

/** Not a secret. */
const ORDINARY: readonly string[] = [
  "01KDVDNA00CTB3B62VF803X2D8",
  "550e8400-e29b-41d4-a716-446655440000",
  "4759becd1b6f0ad1ef1ac5b1dd9bb5eeb21d2d4f",
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "sha512-cbHrkjqTQpWvIRMcBGAPy7FYDvLrTsFf4m0b4gVfXEe6EHnfzIfmDGBDFKmhLyZk0mYjtpZ5YHsCL0AcP6B3Ug==",
  "git log --oneline -5 && git diff HEAD~1 -- src/auth.ts",
  "const token = await readToken({ audience: process.env.AUDIENCE });",
  "headers: { Authorization: `Bearer $" + "{token}` }, // the token is read above",
  'fetch(url, { headers: { Authorization: "Bearer " + process.env.OPENAI_API_KEY } })',
  "Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE",
  "A bearer token-based-authentication-scheme is described below.",
  "Basic arithmetic, basic authentication: Basic Instructions",
  "class sk-folding-cube-animation-container { }",
  '<div class="sk-toggleable__content sk-estimator-doc-link-tooltip-text">',
  "task-force-one-hundred-and-twenty-three and disk-usage-analyzer-report-2024",
  "risk-assessment-for-the-quarter-2024-08-31 is done",
  "ANTHROPIC_API_KEY=sk-ant-... OPENAI_API_KEY=sk-... GITHUB_TOKEN=ghp_...",
  "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is how it looks",
  "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
  "npm_config_user_agent npm_package_json npm_lifecycle_script",
  "npm_config_global_ignore_file_from_elsewhere=1",
  "hf_hub_download(repo_id, filename) from huggingface_hub",
  "xoxb-your-bot-token-goes-here-in-this-place",
  "glpat and gldt are prefixes; so is AKIA, ASIA, AIza and eyJ",
  "https://example.com/@scope/name?x=1#a:b@c",
  "ssh://git@github.example:22/a/b.git and git@github.example:a/b.git",
  "postgres://$USER:$PASSWORD@localhost/app, http://a:{b}@c, https://<user>:<password>@host, http://user:password@host",
  "Mail bob@example.com or see http://localhost:8080/a:b",
  "import { a } from 'https://esm.example/@b/c@1.2.3:d';",
  'if (text.includes("-----BEGIN PRIVATE KEY-----")) throw new Error("a key");',
  'const BEGIN = "-----BEGIN RSA PRIVATE KEY-----";\nconst END = "-----END RSA PRIVATE KEY-----";',
  "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
  "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END PUBLIC KEY-----",
  "eyJhbGciOiJIUzI1NiJ9 is the base64 of a header alone",
  "thisIsAVeryLongCamelCaseIdentifierThatGoesOnAndOn2(withArguments)",
  "a_very_long_snake_case_name_with_numbers_123_and_456_inside",
  "/usr/lib/node_modules/npm/node_modules/@npmcli/arborist/lib/arborist/build-ideal-tree.js:42:13",
  "at Object.<anonymous> (file:///home/bob/project/src/secret-shapes.ts:10:5)",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "The password is wrong. Use a token, a key or a secret. PRIVATE and Bearer are words, too.",
  "2026-08-31T12:00:00.000Z INFO request 7f3a9b2c-1d2e took 12 ms",
  "$2b$12$LJ3m4ys3Lk0TSwHlvFZC0e",
  "日本語のテキストと🙂絵文字 sk- ghp_ AKIA",
  randomText("a picture", 20_000, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
];

test("B3.3: a text without a secret stays as it is, and is the same object", () => {
  for (const text of ORDINARY) assert.equal(shown(text), text);
  assert.ok(ORDINARY.length >= 30);
});

test("B3.3: nothing in this repository's sources looks like a secret", async () => {
  const { sourceFiles } = await import("../../../support/source-files.ts");
  for (const { path, text } of sourceFiles()) assert.equal(shown(text), text, path);
});

/** Each makes a careless pattern look at the same letters again and again; so much of it would take very long. */
const TIRING: readonly string[] = [
  "a",
  "sk-",
  "sk-a",
  "-----BEGIN ",
  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\\n",
  "PRIVATE KEY-----",
  "eyJ",
  "eyJ-",
  "eyJaaaaaaaaaaaaa.",
  "eyJaaaaaaaaaaaaa.eyJ",
  "ghp_",
  "github_pat_",
  "AKIA",
  "Bearer ",
  "Bearer a",
  ": Basic ",
  ": Basic AAAA",
  "@",
  "://",
  "://a:",
  "://a:b",
  "%20",
  "\\n",
  "\u001b[1m",
  "1\t",
];

for (const piece of TIRING) {
  test(`B3.3: half a megabyte of ${JSON.stringify(piece)} are searched in one pass`, () => {
    const text = piece.repeat(500_000 / piece.length);
    const before = process.cpuUsage();
    assert.equal(shown(text).length, text.length);
    const behind = `-----BEGIN PRIVATE KEY-----${text}`;
    assert.ok(shown(behind).length <= behind.length + 100);
    // Looked at from every place again, it takes minutes.
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 20_000_000, `${user + system} µs`);
  });
}

test("B3.3: a text that is larger than any expression can take is still looked at", () => {
  const [, key = ""] = MADE_UP_KEYS[0] ?? [];
  const filler = "a".repeat(12_000_000);
  assert.equal(shown(`${filler} ${key}`), `${filler} [redacted: Anthropic key]`);
  assert.equal(shown(`Bearer ${filler} -----BEGIN PRIVATE KEY-----\n${filler}`).length < filler.length + 100, true);
});
