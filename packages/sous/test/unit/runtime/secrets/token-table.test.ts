/** Every row of the table of tokens: what it finds, and what it leaves as it is. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createRedactor } from "../../../../src/runtime/secrets/redact.ts";
import { TOKEN_SHAPES } from "../../../../src/runtime/secrets/token-table.ts";
import { randomText } from "../../../support/runtime/secrets/made-up-keys.ts";
import { OTHER_KINDS, TOKEN_KINDS, type TokenKind } from "../../../support/runtime/secrets/made-up-tokens.ts";
import { rootFolder } from "../../../support/source-files.ts";

const redactor = createRedactor([]);

/** Not remembered, as a text is. */
const shown = redactor.pieces();

/** Where tokens are found: the token stands for `@`. */
const PLACES = [
  "@",
  "The token is @.",
  "TOKEN=@",
  "export TOKEN='@'",
  '{"token":"@"}',
  "{'token': '@', 'more': 1}",
  "curl https://a.example/?token=@&x=1",
  "token: `@`",
  "<token>@</token>",
  "@\n@",
  "a…@ é",
];
/** The letter before the token belongs to an escape. */
const ESCAPED = [
  '{"log":"first line\\n@\\nlast line"}',
  '{"log":"\\u0022@\\u0022"}',
  "?q=a%20@",
  "\u001b[01;31m\u001b[K@\u001b[m",
];
/** In a longer name, where shapes of ordinary names are not looked for. */
const NAMED = ["log-@", "key_@"];

suite("B3.3: a token of a known service", () => {
  test("the table has rows for more than a hundred services, and each beginning once for each shape", () => {
    assert.ok(new Set(TOKEN_SHAPES.map(([name]) => name.replace(/ [a-z ]+$/, ""))).size > 100);
    const rows = TOKEN_SHAPES.flatMap(([, starts, rest]) => starts.split(" ").map((start) => `${start} ${rest}`));
    assert.deepEqual(rows, [...new Set(rows)]);
  });

  for (const kind of TOKEN_KINDS) {
    test(`a token of a known service is called ${kind.name}: ${kind.start}…`, () => {
      const row = inOneRow(kind);
      const token = row ?? kind.make(0);
      const places = [
        ...PLACES,
        ...(kind.care === "alone" ? [] : NAMED),
        ...(row !== undefined && /^[\w-]/.test(kind.start) ? ESCAPED : []),
      ];
      for (const place of places) {
        const text = place.replaceAll("@", () => token);
        assert.equal(shown(text), place.replaceAll("@", `[redacted: ${kind.name}]`), text);
      }
    });
  }

  for (const [name, before, make] of OTHER_KINDS) {
    test(`a token of a known service is called ${name}: ${before}…`, () => {
      for (let number = 0; number < 5; number++) {
        for (const place of PLACES) {
          const text = place.replaceAll("@", () => before + make(number));
          assert.equal(shown(text), place.replaceAll("@", `${before}[redacted: ${name}]`), text);
        }
      }
    });
  }
});

/**
 * The first of its tokens without a sign in what follows the beginning so early that an escape before it would be part of it;
 * undefined for a kind that always has such a sign.
 */
function inOneRow({ start, make }: TokenKind): string | undefined {
  const row = /[\w-]*$/.exec(start)?.[0].length ?? 0;
  const tokens = Array.from({ length: 60 }, (_, number) => make(number));
  return tokens.find((token) => /^[\w-]{16}/.test(token.slice(token.indexOf(start) + start.length - row)));
}

test("B3.3: twenty tokens of every kind are found, whatever they are made of", () => {
  const missed = TOKEN_KINDS.flatMap(({ name, make }) => {
    const tokens = Array.from({ length: 20 }, (_, number) => make(100 + number));
    return tokens.filter((token) => shown(`TOKEN="${token}"\n`) !== `TOKEN="[redacted: ${name}]"\n`);
  });
  assert.deepEqual(missed, []);
});

test("B3.3: a token of any kind is found in the place of the user of an address", () => {
  const missed = TOKEN_KINDS.flatMap(({ make }) => {
    const tokens = Array.from({ length: 5 }, (_, number) => make(200 + number));
    return tokens.filter((token) => shown(`git clone https://${token}@git.example/a/b`).includes(token.slice(-12)));
  });
  assert.deepEqual(missed, []);
});

test("B3.3: a key without a beginning of its own is found behind an escape, a colour and a percent code", () => {
  const kinds = OTHER_KINDS.filter(([, before]) => before === "");
  assert.ok(kinds.length > 5);
  for (const [name, , make] of kinds) {
    for (let number = 0; number < 5; number++) {
      for (const place of ["a\\n@\\nb", "a\\u0022@", "x%3Fk%3D@%26b", "\u001b[32m@\u001b[0m", "\u001b[01;31m@"]) {
        const text = place.replaceAll("@", () => make(number));
        assert.equal(shown(text), place.replaceAll("@", `[redacted: ${name}]`), text);
      }
    }
  }
});

test("B3.3: of thousands of GitLab tokens of twenty characters none is missed, also without a digit in them", () => {
  const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  for (const start of ["glptt-", "gldt-", "glrt-", "glft-", "glimt-", "gloas-", "glsoat-", "glffct-", "glcbt-"]) {
    const tokens = Array.from({ length: 2000 }, (_, number) => start + randomText(`${start}${number}`, 20, characters));
    const missed = tokens.filter((token) => shown(`{"k": "${token}"}`) !== '{"k": "[redacted: GitLab token]"}');
    assert.deepEqual(missed, [], start);
  }
});

test("B3.3: a placeholder for a token of any kind stays as it is", () => {
  for (const { start } of TOKEN_KINDS) {
    for (const rest of ["x".repeat(80), "X".repeat(36), "0".repeat(64), "*".repeat(40), "...", "…", "<your-token>"]) {
      for (const text of [start + rest, `TOKEN=${start}${rest}`, `"${start}${rest}"`]) assert.equal(shown(text), text);
    }
    for (const rest of ["", "$TOKEN", "{token}", "{{ token }}", "%s", "YOUR_TOKEN", "token-goes-here"]) {
      assert.equal(shown(start + rest), start + rest);
    }
  }
});

/** A little like a token of some row. */
const ORDINARY: readonly string[] = [
  "aio_read_with_timeout and aio_pika; ion_channel_conductance_matrix; ico-download-arrow-circle-down-24",
  "API-GATEWAY-ROUTES-AND-METHODS, sdk-node-typescript-javascript, api-reference-documentation-v2",
  "BSA-compliance-training-material-2024, EAAA is four letters, KEY_VALUE_STORE_FOR_TESTS_THAT_TAKE_LONG_AND_MORE_OF_IT_1",
  "key-bindings-for-the-editor-in-vim-mode, pubkey-fingerprint-of-the-server, cache-key-5d41402abc4b2a76b9719d911017c592",
  "re_export_the_names_of_the_module, rnd_generator_with_a_seed_of_its_own, rpa_workflow_with_many_steps_in_it",
  "secret_scanning_push_protection_bypass_requests_v2, secret_name_of_the_deployment_in_production_01",
  "pat.someVeryLongMethodNameThatGoesOn.andOn.andOn, sl.someObject, hvs.someVeryLongIdentifierNameInCode",
  "api_live.subscribeToTheChannelOfAllEvents(), t1.innerJoinTheOtherTableOnItsPrimaryKey, dp.pt.translateBy",
  "vcr_cassette_library_dir_for_all_of_the_request_specs_in_ci, bkpt_set_on_the_first_line_of_the_program",
  "glft-and-other-prefixes, gldt-documentation-with-many-words-in-it, glrt-runner-authentication-of-a-group",
  "fc-match-pattern-sorted-by-family, csk-tables, shpat is a prefix, whsec_ and xoxb- too",
  "0000000000: 0000 0000 0000 0000, 00000000-0000-0000-0000-000000000000, 001122334455667788990011223344556677889900",
  "SKILLS.md, SKU1234567890, YCbCrSubsamplingOfThePictureWithAlphaPlane, oy2k, cio.run, 4b1d9c0 Fix the parser",
  "EAACodec.encode, AQVNormalizer, LTAIndexOfTheTable, AKCprojects, EZAKernel",
  "AccountKey=$KEY;EndpointSuffix=core.windows.net, SharedAccessKey=<your-key>, AccountKey=",
  "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX and https://discord.com/api/webhooks/",
  "https://example.webhook.office.com/webhookb2/, docker swarm join --token SWMTKN-1-xxxx, SWMKEY-1-",
  "d41d8cd98f00b204e9800998ecf8427e-us-east-1, d41d8cd98f00b204e9800998ecf8427e-chunk.js, en-us, FAQ~1.TXT, PROGRA~1",
  "sha256~ and sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "workspace.atlasv1.example, 12:AARDVARK, 10.0.0.1:AAAA, 2001:db8::AAAA:1, 1234567890:AA",
];

test("B3.3: a text that is a little like a token stays as it is", () => {
  for (const text of ORDINARY) assert.equal(shown(text), text);
});

test("B3.3: numbers that programs print at random are no tokens", () => {
  const base64 = `${randomText("numbers", 2)}ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789`;
  const kinds = {
    base64: randomText("base64", 200_000, `${base64.slice(2)}+/`),
    base64url: randomText("base64 for URLs", 200_000, `${base64.slice(2)}-_`),
    zeros: `${"A".repeat(61)}Q/${randomText("mostly zeros", 200_000, `${"A".repeat(300)}EQgBC+/`)}`,
    hex: randomText("hex", 200_000, "0123456789abcdef"),
  };
  for (const [kind, text] of Object.entries(kinds)) {
    for (const length of [20, 36, 40, 43, 64, 76, 88, 1_000, 200_000]) {
      const lines = text.match(new RegExp(`.{1,${length}}`, "g")) ?? [];
      assert.equal(shown(lines.join("\n")), lines.join("\n"), `${kind} in lines of ${length}`);
    }
  }
});

test("B3.3: nothing in the documents, scripts, examples and lists of packages of this repository looks like a token", () => {
  const files = globSync(
    ["*.{md,json}", "docs/**/*.{md,json}", "{scripts,examples,ops}/**/*.*", "bench/*.*", "packages/*/*.*"],
    {
      cwd: rootFolder,
      exclude: ["**/node_modules/**"],
    },
  );
  assert.ok(files.includes("package-lock.json") && files.length > 100, `${files.length} files`);
  for (const file of files) {
    const text = readFileSync(join(rootFolder, file), "latin1");
    assert.equal(shown(text), text, file);
  }
});

test("B3.3: texts of beginnings alone are searched in one pass", () => {
  const begun = TOKEN_KINDS.flatMap(({ start }) => [start, `${start}a`, `${start}${"aB1".repeat(6)}/`, `${start}aB1.`]);
  const before = process.cpuUsage();
  for (const piece of begun) {
    const text = piece.repeat(20_000 / piece.length);
    assert.ok(shown(text).length <= text.length);
  }
  // Looked at from every place again, it takes minutes.
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 20_000_000, `${user + system} µs`);
});
