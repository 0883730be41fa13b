"""`peephole completion`: a script that completes commands, options and captures, out of the table of commands."""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple

HELP = """Prints a script that completes commands, options, captures and files in your shell.

  bash   eval "$(peephole completion bash)"       in ~/.bashrc
  zsh    eval "$(peephole completion zsh)"        in ~/.zshrc, after compinit
  fish   peephole completion fish | source        in ~/.config/fish/config.fish"""

SHELLS: Final = ("bash", "zsh", "fish")


class _Option(NamedTuple):
    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("shell", choices=SHELLS, help="whose script")


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](), end="")
    return 0


def _commands() -> list[tuple[str, str, list[_Option]]]:
    """Each command with its summary and its options, as its own parser declares them."""
    from peephole.cli.main import COMMANDS, load, parser_of

    found = []
    for command in COMMANDS:
        actions = parser_of(command, load(command))._actions
        options = [
            _Option(tuple(action.option_strings), _line(action), tuple(str(choice) for choice in action.choices or ()))
            for action in actions
        ]
        found.append((command.name, command.summary, options))
    return found


def _line(action: argparse.Action) -> str:
    return " ".join(((action.help or "") % {"default": action.default}).split())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_BASH_HEAD: Final = """\
_peephole() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= choices=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "%s" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
"""

_BASH_TAIL: Final = """\
  esac
  if [ "${word#-}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  else
    local IFS=$'\\n' folder=${PEEPHOLE_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/peephole} found
    COMPREPLY=($(compgen -f -- "$word"))
    # one by one: compgen -W would expand a name, and a name is data
    for found in "$folder"/*.peep; do
      found=${found##*/}; found=${found%.peep}
      [ "$found" = '*' ] || case $found in "$word"*) COMPREPLY+=("$found");; esac
    done
  fi
}
complete -o filenames -F _peephole peephole
"""


def _bash() -> str:
    commands = _commands()
    lines = [_BASH_HEAD % " ".join(name for name, _, _ in commands)]
    for name, _, options in commands:
        words = " ".join(word for option in options for word in option.names)
        lines.append(f"  {name})\n    words={_quoted(words)}\n")
        chosen = [option for option in options if option.choices]
        for option in (option for option in chosen if option.names):
            lines.append(
                f"    case $before in {'|'.join(option.names)}) choices={_quoted(' '.join(option.choices))};; esac\n"
            )
        for option in (option for option in chosen if not option.names):
            lines.append(f'    [ "$COMP_CWORD" != 2 ] || choices={_quoted(" ".join(option.choices))}\n')
        lines.append("    ;;\n")
    return "".join([*lines, _BASH_TAIL])


def _zsh() -> str:
    """zsh completes with bash's functions: one script to keep right."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines = ["complete -c peephole -f -n __fish_use_subcommand\n"]
    for name, summary, options in _commands():
        lines.append(f"complete -c peephole -f -n __fish_use_subcommand -a {name} -d {_quoted(summary)}\n")
        for option in options:
            flags = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.names)
            values = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else ""
            told = f" -d {_quoted(option.help)}" if option.help else ""
            if flags or values:
                seen = f"'__fish_seen_subcommand_from {name}'"
                lines.append(f"complete -c peephole -n {seen} {flags}{values}{told}\n".replace("  ", " "))
    return "".join(lines)
