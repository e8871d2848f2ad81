#compdef sous
# Completion of sous for zsh. In ~/.zshrc, after compinit: eval "$(sous completion zsh)"

_sous_runs() {
  local -a runs
  runs=(last ${(f)"$(command sous replay --list --limit 30 --json 2>/dev/null | command sed -n 's/^ *"id": "\([0-9A-Z]*\)",*$/\1/p')"})
  compadd -a runs
}

_sous_agents() {
  local -a agents
  agents=(${(f)"$(command sous agents list --json 2>/dev/null | command sed -n 's/^ *"name": "\([A-Za-z0-9][A-Za-z0-9._-]*\)",*$/\1/p')"})
  compadd -a agents
}

_sous() {
  local -a commands
  commands=(
    'chat:talk with an agent in this folder; sous alone is the same'
    'run:one task, one answer on stdout; for scripts and pipes'
    'demo:a real tree of agents on a scripted model: no key, no network'
    'replay:look at kept runs, play them again, compare them'
    'resume:go on with a run after a crash or a stop'
    'agents:list, show and check agent files, or begin a new one'
    'config:explain and check the settings, or print their schema'
    'trust:let sous read the settings and agents of this folder'
    'doctor:check this machine and the setup, and say what to do'
    'completion:completion for bash, zsh or fish'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
    chat)
      _arguments \
        '--continue[with the newest conversation]' \
        '--resume[with this one]:ID:_sous_runs' \
        '(-m --model)'{-m,--model}'[provider/model, such as anthropic/claude-sonnet-4-5; also SOUS_MODEL]:P/M: ' \
        '--config[this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG]:FILE:_files' \
        '--bare[read no file of the project]' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--ephemeral[keep nothing]' \
        '--require-store[fail when the run cannot be kept, instead of going on]' \
        '--max-turns[model calls of the root (50)]:N: ' \
        '--max-depth[the deepest level of children, 1 to 10 (3)]:N: ' \
        '--max-agents[children that may start]:N: ' \
        '--max-concurrent[children at the same time (5)]:N: ' \
        '--max-tokens-total[tokens, in and out]:N: ' \
        '--budget[money, such as 0.50]:USD: ' \
        '--timeout[time, such as 90s, 5m or 2h]:TIME: ' \
        '--tools[only these tools]:A,B: ' \
        '--deny-tools[all tools but these]:A,B: ' \
        '--allow[do not ask about this, such as '\''terminal(npm test*)'\''; any number of times]:RULE: ' \
        '--yes[allow everything that no rule denies]' \
        '--quiet[no progress]' \
        '--verbose[everything that happens; the same as --log-level debug]' \
        '--log-format[log lines for people or for programs]:FORMAT:(pretty json)' \
        '--log-level[which log lines, on stderr]:LEVEL:(debug info warn error)' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]'
      ;;
    run | -p)
      _arguments \
        '--output-format[text (default), json\: one object, or stream-json\: one event a line, the result last]:FORMAT:(text json stream-json)' \
        '--json[the same as --output-format json]' \
        '--output-schema[a JSON Schema that the answer must match\: a file, or the schema itself]:SCHEMA:_files' \
        '(-m --model)'{-m,--model}'[provider/model, such as anthropic/claude-sonnet-4-5; also SOUS_MODEL]:P/M: ' \
        '--config[this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG]:FILE:_files' \
        '--bare[read no file of the project]' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--ephemeral[keep nothing]' \
        '--require-store[fail when the run cannot be kept, instead of going on]' \
        '--max-turns[model calls of the root (50)]:N: ' \
        '--max-depth[the deepest level of children, 1 to 10 (3)]:N: ' \
        '--max-agents[children that may start]:N: ' \
        '--max-concurrent[children at the same time (5)]:N: ' \
        '--max-tokens-total[tokens, in and out]:N: ' \
        '--budget[money, such as 0.50]:USD: ' \
        '--timeout[time, such as 90s, 5m or 2h]:TIME: ' \
        '--tools[only these tools]:A,B: ' \
        '--deny-tools[all tools but these]:A,B: ' \
        '--allow[do not ask about this, such as '\''terminal(npm test*)'\''; any number of times]:RULE: ' \
        '--yes[allow everything that no rule denies]' \
        '--quiet[no progress]' \
        '--verbose[everything that happens; the same as --log-level debug]' \
        '--log-format[log lines for people or for programs]:FORMAT:(pretty json)' \
        '--log-level[which log lines, on stderr]:LEVEL:(debug info warn error)' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]' \
        '--log-file[append the log to this private file instead of stderr]:FILE:_files'
      ;;
    demo)
      _arguments \
        '--ephemeral[keep nothing]' \
        '--require-store[fail when the run cannot be kept, instead of going on]' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]'
      ;;
    replay)
      _arguments \
        '(-l --list)'{-l,--list}'[all runs, newest first; roots are marked]' \
        '--status[completed, incomplete, failed, cancelled, timeout, budget_exceeded, refused, interrupted or running]:S:(completed incomplete failed cancelled timeout budget_exceeded refused interrupted running)' \
        '--since[started since then\: 45m, 12h, 7d, 2w or a date]:WHEN: ' \
        '--limit[so many (10)]:N: ' \
        '--offset[behind so many]:N: ' \
        '(-i --id)'{-i,--id}'[one run\: what it was, its task and its messages]:ID:_sous_runs' \
        '--full[long texts whole]' \
        '--request[the N-th request to the model, exactly as it was sent]:N: ' \
        '(-t --tree)'{-t,--tree}'[with --id\: its whole tree, with turns, tools, tokens, cost and time]' \
        '--rerun[with --id\: its tree once more from the recorded answers, without network; ends with 8 if it differs]' \
        '--live-tools[with --rerun\: run the tools again, too]' \
        '--diff[two runs of one task side by side]:ID ID:_sous_runs' \
        '--export[with --id\: its tree as md, json or html]:FORMAT:(md json html)' \
        '--output[where to, instead of stdout]:FILE:_files' \
        '--save-cassette[with --id\: its tree as a cassette that tests play]:FILE:_files' \
        '--import[take in a tree that was exported as json]:FILE:_files' \
        '--new-ids[with --import\: give its runs new ids]' \
        '--backup[a copy of the database, also while it is in use]:FILE:_files' \
        '--prune[forget trees that are older, such as 30d]:AGE: ' \
        '--force[replace the file of --output or --save-cassette]' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--json[one object for scripts]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]'
      ;;
    resume)
      _arguments \
        '--last[the newest root, whatever became of it]' \
        '--fork[go on in a copy, and leave the run as it is]' \
        '--at[with --fork\: go on behind this turn]:TURN: ' \
        '--budget[so many tokens more than it was given]:+TOKENS: ' \
        '--require-store[fail when the run cannot be kept, instead of going on]' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--json[one object for scripts]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:word:_sous_runs'
      ;;
    agents)
      _arguments \
        '--json[one object for scripts]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]' \
        '1:word:(list show check new)' \
        '*:word:{ case $words[2] in show) _sous_agents ;; check) _files ;; esac }'
      ;;
    config)
      _arguments \
        '--config[this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG]:FILE:_files' \
        '--json[one object for scripts]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]' \
        '1:word:(explain check schema)'
      ;;
    trust)
      _arguments \
        '--revoke[take it back]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]'
      ;;
    doctor)
      _arguments \
        '--online[make one request to the provider, without a key]' \
        '(-m --model)'{-m,--model}'[provider/model, such as anthropic/claude-sonnet-4-5; also SOUS_MODEL]:P/M: ' \
        '--config[this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG]:FILE:_files' \
        '--db-path[the database of runs; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db]:FILE:_files' \
        '--json[one object for scripts]' \
        '--ascii[plain glyphs]' \
        '--color[auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too]:WHEN:(auto always never)' \
        '(-h --help)'{-h,--help}'[this text]'
      ;;
    completion)
      _arguments \
        '(-h --help)'{-h,--help}'[this text]' \
        '1:word:(bash zsh fish)'
      ;;
  esac
}

if [[ $funcstack[1] == _sous ]]; then
  _sous "$@"
else
  compdef _sous sous
fi
