# Completion of sous for fish. In ~/.config/fish/config.fish: sous completion fish | source

function __sous_runs
  echo last
  command sous replay --list --limit 30 --json 2>/dev/null | command sed -n 's/^ *"id": "\([0-9A-Z]*\)",*$/\1/p'
end

function __sous_agents
  command sous agents list --json 2>/dev/null | command sed -n 's/^ *"name": "\([A-Za-z0-9][A-Za-z0-9._-]*\)",*$/\1/p'
end

complete -c sous -f
complete -c sous -n __fish_use_subcommand -a look -d 'look at one thing: don\'t touch [it]'
complete -c sous -n __fish_use_subcommand -a again -d 'the same once more'
complete -c sous -n '__fish_seen_subcommand_from look; and not __fish_seen_subcommand_from near far' -a near -d 'what is near'
complete -c sous -n '__fish_seen_subcommand_from look; and not __fish_seen_subcommand_from near far' -a far -d 'what is far'
complete -c sous -n '__fish_seen_subcommand_from look; and __fish_seen_subcommand_from near' -fa '(__sous_agents)'
complete -c sous -n '__fish_seen_subcommand_from look' -s f -l file -r -F -d 'a file: this one'
complete -c sous -n '__fish_seen_subcommand_from look' -l colour -r -fa 'red green' -d 'don\'t [look]'
complete -c sous -n '__fish_seen_subcommand_from look' -l count -x -d 'at most N'
complete -c sous -n '__fish_seen_subcommand_from look' -s h -l help -d 'this text'
complete -c sous -n '__fish_seen_subcommand_from again' -fa '(__sous_runs)'
complete -c sous -n '__fish_seen_subcommand_from again' -l id -r -fa '(__sous_runs)' -d 'this one'
