"""The manual page `peephole.1`, out of the table of commands; reference_pages.py writes it."""

from __future__ import annotations

import argparse

from peephole import __version__
from peephole.cli.main import COMMANDS, EPILOG, load, parser_of


def man_page() -> str:
    """The page in the language of man."""
    lines = [
        f'.TH PEEPHOLE 1 "" "peephole {__version__}" "User Commands"',
        ".SH NAME",
        "peephole \\- shows what a tensor program became and what it did",
        ".SH SYNOPSIS",
        ".B peephole",
        ".I COMMAND",
        "\\&...",
        ".SH DESCRIPTION",
        *_text(EPILOG.split("\n\n", 1)[0]),
        ".SH COMMANDS",
    ]
    for command in COMMANDS:
        module = load(command)
        lines += [f".SS peephole {_plain(command.name)}", *_text(module.HELP)]
        for action in parser_of(command, module)._actions:
            if not isinstance(action, argparse._HelpAction):
                lines += [
                    ".TP",
                    f".B {_plain(' '.join(argument_name(action)).strip())}",
                    *_text((action.help or "") % {"default": action.default}),
                ]
    return "\n".join(lines) + "\n"


def argument_name(action: argparse.Action) -> tuple[str, str]:
    """The names of an option, with commas, and what its value is called; either may be empty."""
    metavar = action.metavar if action.metavar is not None else action.dest.upper() if action.nargs != 0 else ""
    value = " ".join(metavar) if isinstance(metavar, tuple) else metavar
    if action.choices is not None:
        value = "|".join(str(choice) for choice in action.choices)
    return ", ".join(action.option_strings), value


def _text(text: str) -> list[str]:
    """Paragraphs are filled by man; what is indented is an example and stays as it is."""
    lines: list[str] = []
    inside = False
    for line in text.strip().splitlines():
        example = line.startswith("  ") or (inside and not line.strip())
        if example != inside:
            lines.append(".nf" if example else ".fi")
            inside = example
        lines.append(_plain(line) if line.strip() else ".sp")
    return [*lines, ".fi"] if inside else lines


def _plain(line: str) -> str:
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped
