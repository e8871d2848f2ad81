/** B4.5, B5.1: attempts to write with a redirection of the terminal what no file tool writes, judged by the files. */

import assert from "node:assert/strict";
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

suite("B4.5: a redirection does not write what file tools do not write, whatever is allowed", () => {
  const refused: [how: string, command: string, file: string][] = [
    ["settings of a project", "echo 'x: 1' > .sous/config.yaml", ".sous/config.yaml"],
    ["behind a cd", "cd .git && echo x > config", ".git/config"],
    ["behind a cd that fails", "cd nowhere; echo x > .git/config", ".git/config"],
    ["appended", "echo x >> .git/hooks", ".git/hooks"],
    ["both streams", "echo x &> .bashrc", ".bashrc"],
    ["clobbered", "echo x >| .bashrc", ".bashrc"],
    ["by a here-document", "cat > .vscode <<'E'\nx\nE", ".vscode"],
    ["without words for it", "printf x > ./a/../.gitconfig", ".gitconfig"],
    ["asked about, and nobody is there", "echo x > AGENTS.md", "AGENTS.md"],
    ["a repository", "echo 'ref: x' > HEAD", "HEAD"],
    ["npm's settings", "echo x > .npmrc", ".npmrc"],
    ["in quotes", "echo x > '.np'\"mrc\"", ".npmrc"],
    ["by its number", "echo x 1>.npmrc", ".npmrc"],
    ["the other stream", "ls 2> .npmrc", ".npmrc"],
    ["in the home folder", "echo x > ~/.profile", "../home/.profile"],
    ["in the home folder by its variable", "echo x > $HOME/.profile", "../home/.profile"],
  ];
  for (const [how, command, file] of refused) {
    test(`a redirection does not write a guarded file ${how}: ${JSON.stringify(command)}`, async () => {
      await using tree = await openCommand();
      const before = existsSync(join(tree.root, file)) ? readFileSync(join(tree.root, file), "utf8") : undefined;
      await tree.run({ sous: [calling(["terminal", { command }]), saying("Done.")] }, { yes: true });
      const after = existsSync(join(tree.root, file)) ? readFileSync(join(tree.root, file), "utf8") : undefined;
      assert.equal(after, before);
    });
  }

  const links: [how: string, from: string, to: string, command: string, file: string][] = [
    ["a link to a hook that is not there", "hk", ".git/hooks/post-checkout", "echo x > hk", ".git/hooks/post-checkout"],
    ["a link to settings that are not there", "sc", ".sous/config.yaml", "echo x > sc", ".sous/config.yaml"],
    ["a link out of the workspace", "rc", "../home/.bashrc", "echo x >> rc", "../home/.bashrc"],
    ["a link to a link", "l1", "l2", "echo x > l1", ".npmrc"],
    ["up from a link whose name ends in a dot", "h.", ".git/refs", "echo x >> h./../config", ".git/config"],
  ];
  for (const [how, from, to, command, file] of links) {
    test(`a redirection does not write a guarded file by ${how}: ${command}`, async () => {
      await using tree = await openCommand({ "repository/.git/hooks/": "", "repository/.git/refs/": "" });
      symlinkSync(to, join(tree.root, from));
      if (to === "l2") symlinkSync(file, join(tree.root, "l2"));
      await tree.run(
        { sous: [calling(["terminal", { command }]), saying("Done.")] },
        { allow: ["terminal(echo*)", "write_file"] },
      );
      assert.equal(existsSync(join(tree.root, file)), false);
    });
  }

  test("a redirection writes what is as any file, so the rows above can fail", async () => {
    await using tree = await openCommand();
    const command = "cd . && echo x > notes.txt";
    await tree.run({ sous: [calling(["terminal", { command }]), saying("Done.")] }, { yes: true });
    assert.equal(readFileSync(join(tree.root, "notes.txt"), "utf8"), "x\n");
  });
});

suite("B5.1: a redirection does not write through a hard link", () => {
  const script = { sous: [calling(["terminal", { command: "echo x > inside.txt" }]), saying("Done.")] };
  for (const isLinked of [true, false]) {
    const name = isLinked
      ? "B5.1: a redirection does not write a file that has another name outside"
      : "a redirection writes a file that has no other name, so the row above can fail";
    test(name, async () => {
      await using tree = await openCommand({ "outside.txt": "before\n" });
      const inside = join(tree.root, "inside.txt");
      if (isLinked) linkSync(join(tree.path, "outside.txt"), inside);
      else writeFileSync(inside, "before\n");
      await tree.run(script, { yes: true });
      assert.equal(readFileSync(inside, "utf8"), isLinked ? "before\n" : "x\n");
    });
  }
});
