# Completion of sous for bash 4 or newer. In ~/.bashrc: eval "$(sous completion bash)"

_sous_runs() {
  command sous replay --list --limit 30 --json 2>/dev/null | command sed -n 's/^ *"id": "\([0-9A-Z]*\)",*$/\1/p'
}

_sous_agents() {
  command sous agents list --json 2>/dev/null | command sed -n 's/^ *"name": "\([A-Za-z0-9][A-Za-z0-9._-]*\)",*$/\1/p'
}

_sous() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= offer=
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  # bash takes --color=always apart, into three words.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ $command == -p ]] && command=run
  if ((COMP_CWORD == 1)); then
    words="chat run demo replay resume agents config trust doctor completion -p --help --version"
  else
    case "$command $before" in
      "chat --resume") offer=run ;;
      "chat --model" | "chat -m") return ;;
      "chat --config") offer=file ;;
      "chat --db-path") offer=file ;;
      "chat --max-turns") return ;;
      "chat --max-depth") return ;;
      "chat --max-agents") return ;;
      "chat --max-concurrent") return ;;
      "chat --max-tokens-total") return ;;
      "chat --budget") return ;;
      "chat --timeout") return ;;
      "chat --tools") return ;;
      "chat --deny-tools") return ;;
      "chat --allow") return ;;
      "chat --log-format") words="pretty json" ;;
      "chat --log-level") words="debug info warn error" ;;
      "chat --color") words="auto always never" ;;
      "run --output-format") words="text json stream-json" ;;
      "run --output-schema") offer=file ;;
      "run --model" | "run -m") return ;;
      "run --config") offer=file ;;
      "run --db-path") offer=file ;;
      "run --max-turns") return ;;
      "run --max-depth") return ;;
      "run --max-agents") return ;;
      "run --max-concurrent") return ;;
      "run --max-tokens-total") return ;;
      "run --budget") return ;;
      "run --timeout") return ;;
      "run --tools") return ;;
      "run --deny-tools") return ;;
      "run --allow") return ;;
      "run --log-format") words="pretty json" ;;
      "run --log-level") words="debug info warn error" ;;
      "run --color") words="auto always never" ;;
      "run --log-file") offer=file ;;
      "demo --db-path") offer=file ;;
      "demo --color") words="auto always never" ;;
      "replay --status") words="completed incomplete failed cancelled timeout budget_exceeded refused interrupted running" ;;
      "replay --since") return ;;
      "replay --limit") return ;;
      "replay --offset") return ;;
      "replay --id" | "replay -i") offer=run ;;
      "replay --request") return ;;
      "replay --diff") offer=run ;;
      "replay --export") words="md json html" ;;
      "replay --output") offer=file ;;
      "replay --save-cassette") offer=file ;;
      "replay --import") offer=file ;;
      "replay --backup") offer=file ;;
      "replay --prune") return ;;
      "replay --db-path") offer=file ;;
      "replay --color") words="auto always never" ;;
      "resume --at") return ;;
      "resume --budget") return ;;
      "resume --db-path") offer=file ;;
      "resume --color") words="auto always never" ;;
      "agents --color") words="auto always never" ;;
      "agents show") offer=agent ;;
      "agents check") offer=file ;;
      "config --config") offer=file ;;
      "config --color") words="auto always never" ;;
      "trust --color") words="auto always never" ;;
      "doctor --model" | "doctor -m") return ;;
      "doctor --config") offer=file ;;
      "doctor --db-path") offer=file ;;
      "doctor --color") words="auto always never" ;;
      *)
        case "$command" in
          chat) words="--continue --resume --model --config --bare --db-path --ephemeral --require-store --max-turns --max-depth --max-agents --max-concurrent --max-tokens-total --budget --timeout --tools --deny-tools --allow --yes --quiet --verbose --log-format --log-level --ascii --color --help" ;;
          run) words="--output-format --json --output-schema --model --config --bare --db-path --ephemeral --require-store --max-turns --max-depth --max-agents --max-concurrent --max-tokens-total --budget --timeout --tools --deny-tools --allow --yes --quiet --verbose --log-format --log-level --ascii --color --help --log-file" ;;
          demo) words="--ephemeral --require-store --db-path --ascii --color --help" ;;
          replay) words="--list --status --since --limit --offset --id --full --request --tree --rerun --live-tools --diff --export --output --save-cassette --import --new-ids --backup --prune --force --db-path --json --ascii --color --help" ;;
          resume) words="--last --fork --at --budget --require-store --db-path --json --ascii --color --help"; [[ $current == -* ]] || offer=run ;;
          agents) words="--json --ascii --color --help"; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="list show check new" ;;
          config) words="--config --json --ascii --color --help"; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="explain check schema" ;;
          trust) words="--revoke --ascii --color --help" ;;
          doctor) words="--online --model --config --db-path --json --ascii --color --help" ;;
          completion) words="--help"; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="bash zsh fish" ;;
        esac
        ;;
    esac
  fi
  case $offer in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    run) words="last $(_sous_runs)" ;;
    agent) words="$(_sous_agents)" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sous sous
