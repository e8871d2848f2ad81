/** Commands behind a program that no table has: code in plain sight is not understood, and names of programs are only words. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";
import { decideOn } from "../../../support/runtime/rights/requests.ts";

/** 24 ways to begin, with made-up names and with names of programs that exist. */
const WRAPPERS = ["zokrun", "doppler", "./tools/in-env.sh", "/opt/keys/bin/with_keys"].flatMap((name) =>
  ["", " run", " exec prod", " --", " run --env=dev --", " -q --profile prod --"].map((words) => name + words),
);

const CODE = [
  "bash -c 'to\"\"uch m'",
  "sh -ec ls",
  "zsh -ilc ls",
  "bash -o pipefail -c ls",
  "bash --rcfile x -c ls",
  "/usr/bin/bash -c ls",
  "../../bin/sh -c ls",
  "'bash' -c ls",
  "ba''sh -c ls",
  "BASH -c ls",
  "fish --command=ls",
  "pwsh -Command ls",
  "python -c 'x'",
  "python3.11 -Ic x",
  "python3 -W ignore -c x",
  "pypy3 -c x",
  "node -e x",
  "nodejs --no-warnings -p x",
  "node --eval=x",
  "tsx -e x",
  "deno eval x",
  "perl -e x",
  "perl -MPOSIX -wne x",
  "ruby -e x",
  "php -r x",
  "lua -e x",
  "env A=1 bash -c ls",
  "timeout 5 python -c x",
  "xargs -0 -n1 bash -c x",
  "xargs -n1 sh",
  "xargs env",
  "find . -name x -exec ls {} +",
  "find . -delete",
  "fd -x ls",
  "tar cf x.tar --to-command=x .",
  "rsync -e x a b",
  "awk '{print $1}' f",
  "gawk -F, -v a=b '{print}' f",
  "less '+!ls' f",
  "git -c alias.x='!ls' x",
  "git rebase --exec ls main",
  "kubectl exec pod",
];

const ONLY_BEHIND_DASHES = ["bash", "sudo ls", "sed 1els f", "make SHELL=x", "eval ls", "env -S ls", "npx -c ls"];

/** Honest commands whose words are also names of programs and options that they have. */
const UNDERSTOOD = `
gh pr create --title "x" --body "use bash -c"
gh pr create --title bash --body "use bash -c; or sh (both)"
gh pr create -t info -b "Fixes #3; see {docs}"
gh pr edit 12 --add-label mail --body "a; b (c)"
gh issue list --search "python -c"
gh search code -R vim/vim "call(x)"
gh -R kubernetes/kubectl run list
gh api repos/nodejs/node --jq '.[] | {name}'
gh label create info "some text"
kubectl get pods -o jsonpath='{.items[*].metadata.name}'
kubectl config view --minify -o jsonpath='{..namespace}'
kubectl patch svc more -p '{"spec":{}}'
systemctl status find
systemctl restart docker
brew install bash
brew install node python awk findutils perl
brew services start docker
brew info xargs
apt-get install -y python3 python3-pip less nodejs
pip install awk
npm install -D jest node
jest -t find
jest node
jest find src -c jest.config.js
jest --env node -c jest.config.js
jest git -c jest.config.js
jest -t "runs bash -c"
jest -- find
npx jest -- src/mail
npx jest -- test/node.test.ts
npx playwright test -- tests/watch
mocha -r ts-node/register test/node.test.ts
nyc ts-node -r dotenv/config src/a.ts
webpack --target node -c webpack.config.js
pm2 start npm -- start
pm2 start dist/index.js --name node -- -p 3000
pm2 start npm --name web -- run dev
lerna exec -- npm test
zokrun run -- npm test
zokrun run -- node dist/index.js -e production
zokrun python manage.py shell -c x
zokrun bash scripts/setup.sh -c x
zokrun bash -e scripts/setup.sh -c x
zokrun find . -name '*.ts'
zokrun -- git push
journalctl -u node -e
journalctl -u node -p err
jest --testPathPattern node -e
az functionapp create --runtime node -p plan
az functionapp create --runtime python --plan p -c x
./scripts/test.sh node -e
gh label create python --description "about Python (and pip)"
gh label create ssh --description "about ssh keys"
az mysql flexible-server list --query "[].{name:name}"
gh label edit bug --description "something is broken"
gh repo edit --description "a tool that runs"
gh pr edit 12 --body "fixes #3; see (a)" --title "a b"
gh release edit v1 -n "notes (x)"
gh repo view --json name --jq '.name | length'
gh api /repos/nodejs/node --jq '.a | .b'
kubectl logs node-7d9f-x -c web
kubectl logs python-7d9f-x -c web
kubectl set env deploy/x A="b c"
kubectl edit deploy web -o yaml
pm2 start npm --name "my app" -- start
jest watch -t "a b"
jest time -t "a b"
jest env -t "a b"
jest node.test.ts -t "a b" -c jest.config.js
jest src/*
npx jest -- src/*.test.ts
npx jest -- node.test.ts
npx prettier --write src/**/*.ts
playwright test mail -g "a (b)"
cargo watch -x "test -- foo"
cargo nextest run -E 'test(foo)'
brew install gnu-tar tar
apt-get install tar Info
cd - && npm test
cd -- sub && ./run.sh
./test.sh "a b"
/opt/homebrew/bin/git log --oneline
zip -qr out.zip src -x '*.TT'
ssh-keygen -t ed25519 -C me@example.com
aws lambda invoke --function-name node -c x
gcloud functions deploy f --runtime python --entry-point main
terraform apply -target=module.bash -c
helm install node bitnami/node -f values.yaml
docker-compose logs -f node
cargo run -- bash -c
rg -- bash -c
grep -rn awk '{print}'
ag 'bash -c'
`;

const problemOf = (text: string): string | undefined => readCommandLine(text, { home: "/home/me" }).problem;

suite("B5.3: commands behind a program that is not known", () => {
  for (const code of CODE) {
    test(`${code} is not understood behind any of ${WRAPPERS.length} wrappers`, () => {
      const understood = WRAPPERS.filter((wrapper) => problemOf(`${wrapper} ${code}`) === undefined);
      assert.deepEqual(understood, []);
    });
  }

  test("what stands directly behind -- is read as a command of its own", () => {
    for (const text of ONLY_BEHIND_DASHES) {
      const understood = WRAPPERS.filter((wrapper) => problemOf(`${wrapper} ${text}`) === undefined);
      const others = WRAPPERS.filter((wrapper) => !wrapper.endsWith("--"));
      assert.deepEqual(understood, others, text);
    }
  });

  for (const text of UNDERSTOOD.trim().split("\n")) {
    test(`${text} is understood`, () => assert.equal(problemOf(text), undefined));
  }

  test("an interpreter without code and a text for the wrapper itself stay words", () => {
    // SECURITY.md says so: nothing tells them from `brew install bash` and `git commit -m 'text'`.
    const open = ["zokrun bash", "zokrun -c 'to\"\"uch m'", "zokrun eval 'to\"\"uch m'", "zokrun sed 1els f"];
    assert.deepEqual(
      open.filter((text) => problemOf(text) !== undefined),
      [],
    );
  });

  test("rules that deny or ask meet it, and a rule for every command does not allow it", () => {
    for (const wrapper of WRAPPERS) {
      const input = { command: `${wrapper} bash -c 'to""uch m'` };
      const decide = (rules: string[], allowsAll = false) => decideOn(rules, "terminal", input, { allowsAll });
      assert.equal(decide(["deny terminal(touch*)"], true), "deny");
      assert.equal(decide(["ask terminal(touch*)", "allow terminal(*)"]), "ask");
      assert.equal(decide(["allow terminal(*)"]), undefined);
      assert.equal(decide(["allow terminal"]), "allow");
    }
  });

  test("a command with very many names of programs is not understood", () => {
    assert.equal(problemOf(`zokrun add${" bash".repeat(50)}`), undefined);
    assert.match(problemOf(`zokrun add${" bash".repeat(51)}`) ?? "", /more than 50 of its words are names of programs/);
  });

  test("the reason names the wrapper and what it may start", () => {
    const why = problemOf("doppler run -- bash -c ls");
    assert.equal(why, "doppler may start what its arguments say: bash may run code that is not a file: -c");
  });
});
