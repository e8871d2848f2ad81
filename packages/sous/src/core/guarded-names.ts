/**
 * The names of files that programs obey, one table with a reason for each row. The question for every row: is the file
 * obeyed without being called? A name that begins with a dot is taken to be a setting of some program, so those are asked
 * about unless a row says that they act only when a tool of the project is run.
 */

/**
 * `refuse`: no file tool writes it. `ask`: a person is asked, also where writes are allowed. `free`: written as any file,
 * although its name begins with a dot.
 */
export type NameRow = {
  readonly effect: "refuse" | "ask" | "free";
  /** Separated by blanks: `a/` is a folder with all that is below it, `a/b` a file in a folder, `*` any characters of one name. */
  readonly names: string;
  readonly reason: string;
};

export const NAME_ROWS: readonly NameRow[] = [
  { effect: "refuse", names: ".sous/", reason: "it holds settings and agents of sous" },
  {
    effect: "refuse",
    names: ".claude/ .gemini/ .opencode/ .codex/ .cursor/ .config/opencode/ .mcp.json",
    reason: "it holds settings and agents that sous and other programs with agents read",
  },
  {
    effect: "refuse",
    names: ".git/ .gitconfig .gitmodules .config/git/ .hg/ .hgrc .svn/ .jj/",
    reason: "version control runs programs that its settings and hooks name",
  },
  {
    effect: "refuse",
    names: ".vscode/ .idea/ .zed/ .fleet/ .vs/ *.code-workspace",
    reason: "editors run tasks and programs that it names",
  },
  {
    effect: "refuse",
    names:
      ".profile .login .logout .inputrc .bash* .zsh* .zprofile .zlog* .ksh* .mksh* .csh* .tcsh* .xonshrc .envrc " +
      ".config/fish/ .config/nushell/ .config/powershell/ .config/elvish/ .config/xonsh/ profile.ps1 " +
      "*_profile.ps1",
    reason: "shells run it when they start or enter the folder",
  },
  { effect: "refuse", names: ".ssh/ .ripgreprc", reason: "ssh and rg run programs that it names" },
  {
    effect: "ask",
    names:
      "agents.md agents.*.md agent.md claude.md claude.*.md gemini.md gemini.*.md qwen.md crush.md crush.*.md " +
      "warp.md copilot-instructions.md *.instructions.md opencode.json opencode.jsonc crush.json opencode.md " +
      "codex.md iflow.md codebuddy.md replit.md knowledge.md skill.md mcp.json",
    reason: "agents take it as instructions from you",
  },
  {
    effect: "ask",
    names: "head commondir",
    reason: "git takes a folder with this file for a repository and runs programs that its config names",
  },
  {
    effect: "ask",
    names:
      "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg " +
      "post-commit pre-rebase post-checkout post-merge pre-push post-rewrite pre-auto-gc fsmonitor-watchman " +
      "post-index-change reference-transaction sendemail-validate pre-receive post-receive post-update " +
      "lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook-local.* gitconfig push-to-checkout " +
      "proc-receive hk.pkl prek.toml captainhook.json grumphp.yml _darcs/ _mtn/",
    reason: "git runs it by itself where it is set up as a hook or included as settings",
  },
  {
    effect: "ask",
    names:
      "mise.toml mise.*.toml mise/config.toml mise/config.*.toml mise/conf.d/ flake.nix devenv.nix devbox.json " +
      "bin/activate bin/activate.*",
    reason: "shells run what it names when they enter the folder or the environment",
  },
  { effect: "ask", names: "sitecustomize.py usercustomize.py *.pth", reason: "Python runs it at every start" },
  {
    effect: "ask",
    names:
      "_vimrc _gvimrc _exrc _emacs _netrc *.sublime-project *.sublime-workspace _lvimrc _dir-locals.el *.ipr " +
      "*.iws nbproject/ *.desktop autorun.inf desktop.ini",
    reason: "an editor or the desktop obeys it without being told to",
  },
  {
    effect: "free",
    names:
      ".gitignore .gitattributes .gitkeep .keep .mailmap .git-blame-ignore-revs .dockerignore .npmignore " +
      ".eslintignore .prettierignore .stylelintignore .ignore .rgignore .nojekyll .vercelignore .gcloudignore " +
      ".helmignore .slugignore .editorconfig .markdownlintignore",
    reason: "it is a list of names or of spaces, and runs nothing",
  },
  {
    effect: "free",
    names: ".nvmrc .node-version .python-version .ruby-version .java-version .go-version",
    reason: "it holds the number of a version",
  },
  {
    effect: "free",
    names: ".env .env.* .flaskenv",
    reason: "it holds variables that a program of the project reads when it is run",
  },
  {
    effect: "free",
    names:
      ".babelrc* .browserslistrc .c8rc* .eslintrc* .jshintrc .markdownlint* .mocharc* .nycrc* .postcssrc* " +
      ".prettierrc* .remarkrc* .sassrc* .stylelintrc* .swcrc .swiftlint.yml .clang-format .clang-tidy " +
      ".coveragerc .flake8 .golangci.* .hadolint.yaml .isort.cfg .pylintrc .rspec .rubocop.yml .rustfmt.toml " +
      ".scalafmt.conf .shellcheckrc .yamllint* .changeset/ .storybook/ .vitepress/ .well-known/",
    reason: "it acts only when a tool of the project is run",
  },
  {
    effect: "free",
    names:
      ".github/workflows/ .github/actions/ .github/ISSUE_TEMPLATE/ .github/ISSUE_TEMPLATE.md " +
      ".github/PULL_REQUEST_TEMPLATE/ .github/PULL_REQUEST_TEMPLATE.md .github/dependabot.y*ml " +
      ".github/CODEOWNERS .github/FUNDING.yml .github/release.yml .github/labeler.yml .gitlab-ci.y*ml " +
      ".gitlab/ci/ .gitlab/*_templates/ .circleci/ .travis.yml .woodpecker/ .woodpecker.y*ml",
    reason: "it acts on a server, after you have committed and pushed it",
  },
];
