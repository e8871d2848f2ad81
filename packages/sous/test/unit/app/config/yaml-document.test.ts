/** YAML from strangers: read with the place of every value, or refused at once. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readYaml } from "../../../../src/app/config/yaml/document.ts";

const options = { file: "config.yaml", maxBytes: 1_000_000 };

test("E1: every value and every key has a line and a column", () => {
  const text = "model: a/b\nagent:\n  subagent: { max_depth: 0 }\nlist:\n  - one\n  - two: 2\n";
  const { value, at, problems } = readYaml(text, options);
  assert.deepEqual(problems, []);
  assert.deepEqual(JSON.parse(JSON.stringify(value)), {
    model: "a/b",
    agent: { subagent: { max_depth: 0 } },
    list: ["one", { two: 2 }],
  });
  assert.deepEqual(at(["agent", "subagent", "max_depth"]), { line: 3, column: 26 });
  assert.deepEqual(at(["agent", "subagent", "max_depth"], "key"), { line: 3, column: 15 });
  assert.deepEqual(at(["list", 1, "two"]), { line: 6, column: 10 });
  assert.deepEqual(at(["agent", "subagent", "nothing"]), { line: 3, column: 3 });
  assert.deepEqual(at(["nothing"]), { line: 1, column: 1 });
});

test("E1: a part of a file is counted from its first line", () => {
  const { at, problems } = readYaml("a: 1\nb: 2\n", { ...options, firstLine: 5 });
  assert.deepEqual([at(["b"]).line, problems], [6, []]);
  assert.equal(readYaml("a: 1\na: 2\n", { ...options, firstLine: 5 }).problems[0]?.line, 6);
  const tooLarge = readYaml("a: 1\n", { ...options, maxBytes: 2, firstLine: 5 });
  assert.deepEqual([tooLarge.problems.length, tooLarge.at(["a"])], [1, { line: 5, column: 1 }]);
});

test("B4.6: values are those of the core schema, in objects without a prototype", () => {
  const { value } = readYaml(
    'yes: yes\non: on\ndate: 2026-11-15\noctal: 0o17\nhex: 0x1f\nnothing: ~\ntext: !!str 12\nescape: "\\x41\\ud800"\n',
    options,
  );
  assert.equal(Object.getPrototypeOf(value), null);
  assert.deepEqual(
    { ...(value as object) },
    {
      yes: "yes",
      on: "on",
      date: "2026-11-15",
      octal: 15,
      hex: 31,
      nothing: null,
      text: "12",
      escape: "A\ufffd",
    },
  );
});

test("B4.6: an alias stands for its value, and an empty text for nothing", () => {
  const { value, problems } = readYaml("a: &x { n: 1 }\nb: *x\n", options);
  assert.deepEqual([JSON.stringify(value), problems], ['{"a":{"n":1},"b":{"n":1}}', []]);
  for (const text of ["", "# only a comment\n", "---\n", "\ufeff"]) {
    const { value, problems, at } = readYaml(text, { ...options, firstLine: 3 });
    assert.deepEqual([value, problems, at(["name"])], [null, [], { line: 3, column: 1 }], text);
  }
});

test("B4.6: values that are nested too deeply are named where they are, also below an alias", () => {
  const deep = `${"[".repeat(34)}1${"]".repeat(34)}`;
  const problemsOf = (text: string) => readYaml(text, options).problems.map(({ line, message }) => [line, message]);
  assert.deepEqual(problemsOf(`a: &x { n: 1 }\nb: *x\nc: ${deep}\nd: ${deep}\n`), [
    [3, "the values are nested too deeply"],
  ]);
  const half = `${"[".repeat(20)}1${"]".repeat(20)}`;
  assert.deepEqual(problemsOf(`a: &x ${half}\nb:\n  ${"[".repeat(20)}*x${"]".repeat(20)}\n`), [
    [3, "the values are nested too deeply"],
  ]);
});

test("B4.6: each limit that is passed is told once, at the first place", () => {
  const deep = `${"[".repeat(34)}1${"]".repeat(34)}`;
  const { problems } = readYaml(`deep: ${deep}\n${bomb}\nlast: ${deep}\n`, options);
  assert.deepEqual(
    problems.map(({ line, message }) => [line, message]),
    [
      [1, "the values are nested too deeply"],
      [6, "the text stands for too many values"],
    ],
  );
});

test("B4.6: the first twenty of many problems are told", () => {
  const { problems } = readYaml(`a: 1\n${"a: 2\n".repeat(30)}`, options);
  assert.deepEqual(
    problems.map(({ line }) => line),
    Array.from({ length: 20 }, (_, index) => index + 2),
  );
  assert.equal(readYaml(`[${"*x, ".repeat(30)}]`, options).problems.length, 20);
});

const bomb = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ..."bcdefghi".split("").map((name, index) => {
    const before = "abcdefgh"[index];
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]`;
  }),
].join("\n");

suite("B4.6: a document of an attacker", () => {
  const attacks: [what: string, text: string | Uint8Array, line: number, message: RegExp][] = [
    ["an alias bomb", bomb, 5, /too many values/],
    ["an alias of itself", "a:\n  &a [*a]", 2, /contains itself/],
    ["an alias of nothing", "a: *b", 1, /no anchor &b/],
    ["the key __proto__", "a: 1\n__proto__: { isAdmin: true }", 2, /__proto__ is not allowed/],
    ["the key __proto__ in quotes", 'a: 1\n"__proto__": 1', 2, /__proto__ is not allowed/],
    ["the key constructor", "x: { constructor: { prototype: 1 } }", 1, /constructor is not allowed/],
    ["a tag of JavaScript", "a: 1\nb: !!js/function 'function () { process.exit() }'", 2, /tag !!js\/function/],
    ["a tag by its whole name", "a: !<tag:yaml.org,2002:js/regexp> /x/", 1, /tag !<tag/],
    ["a tag of its own", "a: !env HOME", 1, /tag !env/],
    ["a tag of dates", "a: !!timestamp 2026-01-01", 1, /tag !!timestamp/],
    ["a directive that renames tags", "%TAG !! tag:evil,2026:\n---\na: !!str x", 1, /directives/],
    ["a merge key", "a: &a { x: 1 }\nb:\n  <<: *a", 3, /merge keys/],
    ["a key twice", "a: 1\nb: 2\na: 3", 3, /"a" is there twice/],
    ["a key that is a list", "? [a]\n: 1", 1, /plain name/],
    ["tabs as indentation", "a:\n\tb: 1", 2, /tabs/],
    ["a bad indentation", "a:\n   b: 1\n  c: 2", 3, /indentation/],
    ["a list without its end", "a: [1, 2\nb: 3", 2, /not closed/],
    ["an unknown escape", 'a: 1\nb: "\\q"', 2, /escape/],
    ["half a million unknown escapes", `"${"\\q".repeat(499_000)}"`, 1, /escape/],
    ["a second document", "a: 1\n---\nb: 2", 2, /more than one document/],
    ["a second document without dashes", "a: 1\n...\nb: 2", 3, /more than one document/],
    ["a NUL", "a: 1\nb: \u0000", 2, /U\+0000/],
    ["an escape byte", "a: \u001b[2J", 1, /U\+001B/],
    ["bytes that are not UTF-8", Buffer.from([0x61, 0x3a, 0x31, 0x0a, 0x62, 0x3a, 0xff]), 2, /not UTF-8/],
    ["UTF-16", Buffer.from("\ufeffa: 1", "utf16le"), 1, /not UTF-8/],
    ["5 MB", "a".repeat(5_000_000), 1, /5000000 bytes/],
    ["100,000 open lists", "[".repeat(100_000), 1, /too deeply/],
    ["100,000 nested items", "- ".repeat(100_000), 1, /too deeply/],
    [
      "40 levels",
      `${Array.from({ length: 40 }, (_, level) => `${" ".repeat(level)}a:`).join("\n")} 1`,
      34,
      /too deeply/,
    ],
    ["a million lines", "\n".repeat(900_000), 20_001, /too many parts/],
    ["90,000 keys", Array.from({ length: 90_000 }, (_, key) => `k${key}: 1`).join("\n"), 2858, /too many parts/],
    ["100,000 ends of nothing", "}".repeat(100_000), 1, /too many parts/],
    ["anchors without end", "&a ".repeat(100_000), 1, /too many parts/],
  ];
  for (const [what, text, line, message] of attacks) {
    test(`a document is refused in bounded time when it has ${what}`, () => {
      const started = process.cpuUsage();
      const { value, problems } = readYaml(text, options);
      const { user, system } = process.cpuUsage(started);
      assert.equal(value, null);
      assert.ok(problems.length >= 1 && problems.length <= 20);
      assert.deepEqual([problems[0]?.file, problems[0]?.line], ["config.yaml", line]);
      assert.match(problems[0]?.message ?? "", message);
      // 100 ms is meant; on a machine where the tests of others run, ten times as much still shows what has no bound.
      assert.ok(user + system < 1_000_000, `${(user + system) / 1000} ms`);
      assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
    });
  }
});

test("B4.6: the reader answers and does not throw, whatever it is given", () => {
  const pieces = [
    "a",
    ":",
    " ",
    "\n",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&x ",
    "*x",
    "!",
    '"',
    "'",
    "|",
    ">",
    "#",
    "%",
    "---",
    "\t",
    "\\",
  ];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: random(30) }, () => pieces[random(pieces.length)]).join("");
    const { value, problems, at } = readYaml(text, options);
    assert.ok(problems.length === 0 || value === null, JSON.stringify(text));
    for (const { line, column } of [...problems, at(["a", 0])])
      assert.ok(line >= 1 && column >= 1, JSON.stringify(text));
  }
});

test("E1: a message repeats the beginning of a long name, and all of a name that just fits", () => {
  const messages = (text: string) => readYaml(text, options).problems.map(({ message }) => message);
  const long = "abcdefghij".repeat(10);
  assert.deepEqual(messages(`${long}: 1\n${long}: 2\n`), [`the key "${long.slice(0, 80)}" is there twice`]);
  assert.deepEqual(messages(`a: *${long}\n`), [`there is no anchor &${long.slice(0, 80)} above`]);
  assert.deepEqual(messages(`a: &${long} [*${long}]\n`), [`the alias *${long.slice(0, 80)} contains itself`]);
  assert.deepEqual(messages(`a: !${long} 1\n`), [`the tag !${long.slice(0, 59)} is not allowed`]);
});

test("B4.6: an escape for the last character there is, is read, and one behind it is refused", () => {
  assert.deepEqual({ ...(readYaml('a: "\\U0010FFFF"', options).value as object) }, { a: "\u{10ffff}" });
  for (const text of ['"\\U00110000"', '"\\UFFFFFFFF"', '"\\q"']) {
    assert.deepEqual(
      readYaml(`a: ${text}`, options).problems.map(({ message }) => message),
      ["there is an unknown escape in double quotes"],
      text,
    );
  }
});

test("B4.6: a control character is named by its number of four digits, where it is", () => {
  assert.deepEqual(
    readYaml("a: 1\nb: x\u0007\n", options).problems.map(({ line, column, message }) => [line, column, message]),
    [[2, 5, "the character U+0007 is not allowed in YAML"]],
  );
});
