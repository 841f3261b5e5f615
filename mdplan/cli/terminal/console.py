"""The standard streams: what goes to which, how it is coloured, and what happens when nobody reads it."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TextIO

from mdplan.text.visible import escaped, escaped_but_for_colours, escaped_json


@dataclass(frozen=True, slots=True)
class Style:
    """Colours for one stream, or none."""

    on: bool

    def paint(self, text: str, colour: str) -> str:
        """`text` in `colour`."""
        return _styled(text, colour) if self.on else text

    def paint_mark(self, text: str, colour: str) -> str:
        """`text` in reversed `colour`, which stands out of a line that has that colour."""
        return _styled(text, colour, reverse=True) if self.on else text

    def bold(self, text: str, colour: str | None = None) -> str:
        """`text` in bold."""
        return _styled(text, colour, bold=True) if self.on else text


NO_STYLE: Final = Style(on=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a command writes: data to standard output, everything else to standard error.

    With `as_json` people are told nothing: the one object on standard output has it all.
    `diff_is_for_people` says that standard output shows diffs to eyes and not to programs. `pages` allows a
    pager.
    """

    as_json: bool
    quiet: bool
    out: Style
    err: Style
    diff_is_for_people: bool
    pages: bool = True

    @classmethod
    def of(
        cls,
        color: str,
        environment: Mapping[str, str],
        *,
        as_json: bool = False,
        quiet: bool = False,
        pages: bool = True,
    ) -> "Console":
        """Console of this process. `color` is always, never, or auto: what terminal and environment say.

        NO_COLOR goes before FORCE_COLOR, and the option before both. FORCE_COLOR does not colour a diff that
        goes into a pipe or file, because `git apply` could not read it; `color` always does.
        """
        out_is_terminal, err_is_terminal = is_terminal(sys.stdout), is_terminal(sys.stderr)
        return cls(
            as_json=as_json,
            quiet=quiet,
            out=Style(_is_coloured(color, environment, is_terminal=out_is_terminal)),
            err=Style(_is_coloured(color, environment, is_terminal=err_is_terminal)),
            diff_is_for_people=out_is_terminal or color == "always",
            pages=pages,
        )

    @classmethod
    def plain(cls) -> "Console":
        """Console without colours, for text that has none."""
        return cls.of("never", {})

    def data(self, data: bytes) -> None:
        """Write `data` to standard output as it is."""
        _write(sys.stdout, data)

    def paged(self, text: str) -> None:
        """Write `text` to standard output, through the user's pager if it does not fit on the terminal."""
        if not self.shows_in_pager(text):
            self.text(text)

    def shows_in_pager(self, text: str) -> bool:
        """Show `text` in the user's pager; False where it fits on the screen, or there is no pager."""
        if not self.pages or not is_terminal(sys.stdout):
            return False
        import shutil

        if text.count("\n") < shutil.get_terminal_size().lines:
            return False
        from mdplan.cli.terminal.pager import page

        return page(_encoded(sys.stdout, text, self.out), os.environ)

    def text(self, text: str) -> None:
        """Write `text`, which ends its lines, to standard output."""
        _write(sys.stdout, _encoded(sys.stdout, text, self.out))

    def json(self, value: object) -> None:
        """Write `value`, decoded JSON, to standard output: one line, or indented on a terminal."""
        indent = 2 if is_terminal(sys.stdout) else None
        import json

        text = escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))
        _write(sys.stdout, text.encode("utf-8") + b"\n")

    def note(self, text: str) -> None:
        """Tell people `text` on standard error; not when quiet."""
        if not self.quiet:
            self.problem(text)

    def problem(self, text: str) -> None:
        """Tell people `text` on standard error, also when quiet."""
        if not self.as_json:
            write_error(text, self.err)


def write_error(text: str, style: Style = NO_STYLE) -> None:
    """Write `text` to standard error, with a line end. That nobody can read it is no reason to fail."""
    try:
        _write(sys.stderr, _encoded(sys.stderr, text + "\n", style))
    except OSError:
        mute(sys.stderr)


def _styled(text: str, fg: str | None, *, bold: bool | None = None, reverse: bool | None = None) -> str:
    # Loaded for colours alone: commands that only look have hardly any.
    import click

    return click.style(text, fg=fg, bold=bold, reverse=reverse)


def shown(text: str) -> str:
    """`text` of a report as one line for people."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def _is_coloured(color: str, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    if color != "auto":
        return color == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal; a stream that was closed at the start is None."""
    return stream is not None and not stream.closed and stream.isatty()


def _encoded(stream: TextIO | None, text: str, style: Style) -> bytes:
    """`text` for people. All of it goes through here: nothing but colours steers a terminal.

    Text of files has its colours escaped before, by `shown` or `escaped`.
    """
    text = escaped_but_for_colours(text) if style.on else escaped(text)
    return text.encode((stream.encoding if stream is not None else None) or "utf-8", "backslashreplace")


def _write(stream: TextIO | None, data: bytes) -> None:
    """Write `data`. A reader that went away (``| head``) does not change what the command did."""
    if stream is None:
        return
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except BrokenPipeError:
        mute(stream)


def mute(stream: TextIO | None) -> None:
    """Let what `stream` still holds vanish: the interpreter would stumble over it on its way out."""
    if stream is not None:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 (pathlib would be loaded for this alone)
            os.dup2(nowhere.fileno(), stream.fileno())
