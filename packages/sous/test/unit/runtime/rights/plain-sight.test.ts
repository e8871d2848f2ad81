/** Kinds of code in plain sight behind a program that no table has: spellings of a program, globs, and where its code stands. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";
import { decideOn } from "../../../support/runtime/rights/requests.ts";

/** Ways to begin, with made-up names. */
const WRAPPERS = ["zokrun", "veyl run", "with-keys exec prod", "./tools/in-env.sh --env=dev", "tmp_env4 --in dev"];
const DASHED = WRAPPERS.map((wrapper) => `${wrapper} --`);
/** Behind a flag that could take a value. */
const FLAGGED = WRAPPERS.map((wrapper) => `${wrapper} -q`);

const SPELLINGS = [
  "/usr/bin//bash -c ls",
  "/usr/bin/./bash -c ls",
  "/usr/bin/../bin/bash -c ls",
  "//bin/sh -c ls",
  "/usr/bin//env -S 'a b'",
  "/usr/bin//find . -exec ls {} +",
  "/usr/local/../bin/./perl -e x",
  "/etc/alternatives/awk 'BEGIN{}'",
  "../../../../../../../../etc/alternatives/awk 'BEGIN{}'",
  "/usr/lib/git-core/git -c alias.x='!ls' x",
  "/usr/lib/git-core/git-rebase --exec ls main",
  "/opt/python/python3 -c x",
  "perl5.36-x86_64-linux-gnu -e x",
  "python3.12-intel64 -c x",
  "python3.13t -c x",
  "luajit-2.1.0-beta3 -e x",
  "vim.basic -c '!ls'",
  "vim.tiny -es '+!ls'",
  "sh.distrib -c ls",
  "busybox.static sh -c 'a b'",
];

const GLOBS = [
  "/bin/ba?h -c ls",
  "/bin/ba[s]h -c ls",
  "/bin/*ash -c ls",
  "/usr/bin/b*h -c ls",
  "/???/bin/bash -c ls",
  "/usr/*/python3 -c 'a b'",
  "/usr/bin/pytho? -c 'a b'",
  "/usr/bin/pe*l -e x",
  "/usr/bin/python3.* -c x",
  "/usr/bin/pytho[n]3 -c 'a b'",
  "/usr/bin/per?5.36 -e x",
  "/usr/bin/fin? . -exec ls {} +",
  "/usr/bin/se? '1e ls' f",
  "/usr/bin/gi? -c alias.x='!ls' x",
  "/usr/bin/*wk 'BEGIN{}'",
  "/usr/bin/xarg? env",
  "ba?h -c ls",
  "b??h -lc 'a b'",
  "n[o]de -e 'a b'",
  "p?thon -c 'a b'",
  "bin/ba?h -c ls",
  "*/bash -c ls",
  "node_modules/.bin/ts? -e 'a b'",
];

/** The four rules of code in plain sight, in ways that are easily missed. */
const BUNDLED = [
  "perl -0777ne x",
  "perl -l012ne x",
  "perl -l0e x",
  "perl -00e x",
  "perl -w0e x",
  "perl -0777 -ne x",
  "ruby -0777ne x",
  "ruby -W0e x",
  "bun -e 'x()'",
  "bun -p x.y",
  "bun --eval 'x()'",
  "pwsh -e YQA=",
  "pwsh -EncodedCommand YQA=",
  "powershell -enc YQA=",
  "nu -e ls",
  "nu --execute ls",
  "swipl -g 'shell(ls)'",
  "deno repl --eval 'x()'",
  "node inspect -e 'x()'",
  "node -e 'evil()'",
  "node -p process.exit",
  "git -C . -c alias.x='!ls' x",
  "git --no-pager -c alias.x='!ls' x",
  "git -P -c core.pager=ls log",
  "git --git-dir .git -c alias.x='!ls' x",
  "git -c x -c alias.x='!ls' x",
  "git --exec-path=. x",
  "git --config-env alias.x=X x",
  "git -C . fetch --upload-pack ls .",
  "git -C . ls-remote --upload-pack=ls .",
  "git -C . clone -u ls . x",
  "git --no-pager rebase --exec ls main",
  "tar cIf 'sh -c ls' x.tar f",
  "tar cfI x.tar ls f",
  "gawk -b 'BEGIN{}'",
  "gawk --posix 'BEGIN{}'",
  "gawk -e 'BEGIN{}'",
  "xargs --verbose env",
  "xargs --null env",
  "xargs --no-run-if-empty nice",
  "xargs --arg-file=f env",
  "find -- . -exec ls {} +",
  "find -L -- . -delete",
  "find . -- -fprint m",
  "zip -T -qTT 'ls;' x.zip f",
];

/** Code as the value of an option, or behind a program that starts whatever it is given. */
const VALUES = [
  "vim -es -c '!ls -l' -c q",
  "vim --cmd '!ls -l'",
  "ex -s -c '!ls -l'",
  "view -c '!ls -l'",
  "vimdiff -c '!ls -l'",
  "nvim --headless -c '!ls -l'",
  "R -e 'system(1)'",
  "julia -e 'run(1)'",
  "octave --eval 'system(1)'",
  "emacs --batch --eval '(x)'",
  "guile -c '(x)'",
  "psql -c '\\! ls'",
  "mysql --execute 'system ls'",
  "mongosh --eval 'x()'",
  "sqlite3 -cmd '.shell ls' x.db",
  "gdb -batch -ex 'shell ls'",
  "su -c 'a b'",
  "script -qc 'a b' f",
  "flock f -c 'a b'",
  "env -S 'a b'",
  "env --split-string='a b'",
  "npx -c 'a b'",
  "npm exec -c 'a b'",
  "npx --call='a b'",
  "make --eval='x:;ls'",
];

/** The same without an option that says so. */
const WORDS = [
  "sqlite3 :memory: '.shell ls'",
  "ssh -o ProxyCommand='ls -l' host",
  "ssh -oProxyCommand='ls -l' host",
  "strace -o '|ls -l' true",
  "tmux new-session -d 'a b'",
  "man -P 'ls -l' ls",
  "watch 'ls -l'",
  "watch -n9 'ls -l'",
  "parallel ::: 'a b'",
  "hyperfine 'a b'",
  "sed '1e ls -l' f",
  "sed -e '1e ls -l' f",
  "gsed --expression='1e ls -l' f",
  "make X='$(shell ls)'",
  "make CC='a b' all",
  "git submodule foreach 'ls -l'",
  "git -C . filter-branch --tree-filter 'a b'",
  "perl '-Mstrict;system(1)' f",
  "node --import 'data:text/javascript,x()' f.js",
  "node --import=data:text/javascript,x f.js",
  "python3 -m timeit 'x()'",
  "python3 -W ignore -m timeit 'x()'",
  "setsid sed '1e ls -l' f",
];

const problemOf = (text: string): string | undefined => readCommandLine(text, { home: "/home/me" }).problem;

suite("B5.3: code in plain sight behind a program that is not known", () => {
  const kinds: [name: string, texts: readonly string[], wrappers: readonly string[]][] = [
    ["another spelling of a path or a name", SPELLINGS, [...WRAPPERS, ...DASHED]],
    ["a glob as the program", GLOBS, [...WRAPPERS, ...DASHED]],
    ["options in a bundle, behind other options, and of more programs", BUNDLED, [...WRAPPERS, ...DASHED, ...FLAGGED]],
    ["code as the value of an option", VALUES, [...WRAPPERS, ...DASHED, ...FLAGGED]],
    ["code as any word behind a starter", WORDS, [...WRAPPERS, ...DASHED]],
  ];
  for (const [name, texts, wrappers] of kinds) {
    for (const text of texts) {
      test(`${name}: ${text} is not understood behind any of ${wrappers.length} wrappers`, () => {
        assert.deepEqual(
          wrappers.filter((wrapper) => problemOf(`${wrapper} ${text}`) === undefined),
          [],
        );
      });
    }
  }

  test("a glob in the place of a denied program is denied, and one of files of the project is not", () => {
    const decide = (command: string, rule = "deny terminal(touch*)") => {
      return decideOn([rule], "terminal", { command }, { allowsAll: true });
    };
    for (const wrapper of WRAPPERS) {
      for (const glob of [
        "/usr/bin/touc? m",
        "/usr/bin/t*ch m",
        "/usr/bin/[t]ouch m",
        "/???/bin/touch m",
        "/usr/bin/* m",
      ])
        assert.equal(decide(`${wrapper} ${glob}`), "deny", `${wrapper} ${glob}`);
      assert.equal(decide(`${wrapper} /usr/bin/gi? push`, "deny terminal(git push*)"), "deny");
      for (const glob of ["src/*", "src/*.ts", "*.md", "src/**/*.test.ts", "packages/*/src/*"])
        assert.equal(decide(`${wrapper} ${glob}`), "allow", `${wrapper} ${glob}`);
    }
  });

  test("a script with the name of a program that starts nothing is a program that is not known", () => {
    const names = [
      "./test",
      "./date",
      "script/make",
      "bin/git",
      "/tmp/x/find",
      "./tools/../cat",
      "../ls",
      "./timeout",
      "sub/grep",
      "~/cp",
    ];
    for (const name of names) {
      for (const start of ["", "timeout 5 ", "env "]) {
        const decide = (text: string) =>
          decideOn(["deny terminal(touch*)"], "terminal", { command: `${start}${name} ${text}` }, { allowsAll: true });
        assert.equal(decide("touch m"), "deny", `${start}${name}`);
        assert.equal(decide("bash -c 'to\"\"uch m'"), "deny", `${start}${name}`);
      }
    }
    for (const name of ["/bin/cat", "/usr/bin/cat", "/usr/local/bin/cat", "//usr/bin/./cat"])
      assert.equal(problemOf(`${name} bash -c ls`), undefined, name);
  });

  test("a subcommand of cargo that is not one of its own is a program that is not known", () => {
    const decide = (command: string) =>
      decideOn(["deny terminal(touch*)"], "terminal", { command }, { allowsAll: true });
    for (const start of [
      "cargo zokrun",
      "cargo +nightly zokrun",
      "cargo -q watch",
      "time cargo veyl",
      "/usr/bin/cargo veyl",
    ]) {
      for (const text of ["touch m", "-s 'touch m'", "-- touch m", "bash -c 'to\"\"uch m'"])
        assert.equal(decide(`${start} ${text}`), "deny", `${start} ${text}`);
    }
    assert.equal(decide("cargo test touch"), "allow");
  });

  test("options of find behind --, and of zip in a bundle, count without a wrapper, too", () => {
    const starts = ["", "time ", "timeout 5 ", "ls | xargs "];
    const texts = [
      "find -- . -exec ls {} +",
      "find -- . -maxdepth 0 -execdir ls ';'",
      "find -D exec -- . -delete",
      "gfind -- . -fls m",
      "find -P -- . -ok ls ';'",
      "zip -T -qTT 'ls;' x.zip f",
      "zip -jTT 'ls;' x.zip f",
      "zip -TqTT 'ls;' x.zip f",
      "zip -T -9TTls x.zip f",
    ];
    for (const start of starts)
      for (const text of texts) assert.notEqual(problemOf(`${start}${text}`), undefined, `${start}${text}`);
  });
});
