"""Standard streams, colours, progress bars and questions in a terminal."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO, TypeAlias

import click

from mdplan.text.visible import escaped, escaped_but_for_colours, escaped_json
from mdplan.values import Struct

# What stands for standard input where a command takes a file.
STANDARD_INPUT: Final = "-"


class Style(Struct):
    """Colours for one stream, or none."""

    on: bool

    def paint(self, text: str, colour: str | None, *, bold: bool = False, reverse: bool = False) -> str:
        """Return `text` in `colour`."""
        return click.style(text, fg=colour, bold=bold or None, reverse=reverse or None) if self.on else text

    def bold(self, text: str, colour: str | None = None) -> str:
        """Return `text` in bold."""
        return self.paint(text, colour, bold=True)


NO_STYLE: Final = Style(on=False)


class Console(Struct, kw_only=True):
    """The output of a command: data on standard output, everything else on standard error.

    With `as_json` there are no messages: one object on standard output has everything. `diff_is_for_people`:
    standard output shows diffs to people, not programs. `pages` allows a pager.
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
        """Return the console of this process. `color` is always, never or auto, as the environment says.

        The option overrides NO_COLOR, which overrides FORCE_COLOR. FORCE_COLOR does not colour a diff in a
        pipe or file, because `git apply` could not read it; `color` always does.
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
        """Return a console without colours, for plain text."""
        return cls.of("never", {})

    @property
    def can_ask(self) -> bool:
        """True if a person can read questions and answer them."""
        return not self.as_json and has_terminal()

    def data(self, data: bytes) -> None:
        """Write `data` to standard output as it is."""
        if not self.as_json:
            _write(sys.stdout, data)

    def paged(self, text: str) -> None:
        """Write `text` to standard output, through the user's pager if it does not fit on the terminal."""
        if not self.shows_in_pager(text):
            self.text(text)

    def shows_in_pager(self, text: str) -> bool:
        """Show `text` in the user's pager; False where it fits on the screen, or there is no pager."""
        if self.as_json or not self.pages or not is_terminal(sys.stdout):
            return False
        import shutil

        if text.count("\n") < shutil.get_terminal_size().lines:
            return False
        from mdplan.cli.pager import page

        return page(_encoded(sys.stdout, text, self.out), os.environ)

    def listener(self, choice: str = "auto", doing: str = "planning") -> "EventListener":
        """Return a listener for progress; `choice` is one of `CHOICES`, auto is a bar on a terminal."""
        if choice == "jsonl":
            return _json_line
        if choice == "bar" or (
            choice == "auto" and is_terminal(sys.stderr) and not (self.quiet or self.as_json)
        ):
            return _Bar(doing, is_late=choice == "auto")
        return lambda _event, _facts: None

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[[int, int | None], None]]:
        """Yield a function of the numbers of finished and of all files, which a terminal shows."""
        tell = self.listener(doing=doing)
        try:
            yield lambda done, total: tell("planned", {"done": done, "files": total})
        finally:
            tell("ended", {})

    def text(self, text: str) -> None:
        """Write `text`, which ends its lines, to standard output."""
        self.data(_encoded(sys.stdout, text, self.out))

    def json(self, value: object) -> None:
        """Write `value`, decoded JSON, to standard output: one line, or indented on a terminal."""
        indent = 2 if is_terminal(sys.stdout) else None
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


def shown(text: str) -> str:
    """Return `text` of a report as one line for people."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def shown_paths(paths: Sequence[str], most: int) -> str:
    """Return the first `most` of `paths` in one line, and how many more there are."""
    more = len(paths) - most
    return ", ".join(map(shown, paths[:most])) + (f" and {more} more" if more > 0 else "")


def _is_coloured(color: str, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    if color != "auto":
        return color == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if `stream` is a terminal; a stream closed at start is None."""
    return stream is not None and not stream.closed and stream.isatty()


def _encoded(stream: TextIO | None, text: str, style: Style) -> bytes:
    """Return `text` for people, in which only colours can control the terminal.

    `shown` or `escaped` has already escaped the colours in text of files.
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


# --- Progress of long work: a bar on a terminal, or JSON lines for programs

CHOICES: Final = ("auto", "bar", "jsonl", "none")
EventListener: TypeAlias = Callable[[str, Mapping[str, Any]], None]
_WIDTH: Final = 30
_CLEAR: Final = "\r\033[K"
_LATE: Final = 0.5


def _json_line(event: str, facts: Mapping[str, Any]) -> None:
    write_error(escaped_json(json.dumps({"event": event, **facts}, ensure_ascii=False)))


class _Bar:
    """A progress bar with the remaining time, drawn over itself and removed at the end.

    One that `is_late` appears after half a second, and is drawn at most ten times a second.
    """

    def __init__(self, doing: str, *, is_late: bool) -> None:
        self._doing = doing
        self._drawn = ""
        self._start = time.monotonic()
        self._pause = _LATE / 5 if is_late else 0
        self._next = self._start + (_LATE if is_late else 0)

    def __call__(self, event: str, facts: Mapping[str, Any]) -> None:
        done, total = facts.get("done"), facts.get("files")
        if time.monotonic() >= self._next:
            if event == "planned" and isinstance(done, int):
                self._draw(self._line(done, total))
                self._next = time.monotonic() + self._pause
            elif event == "committing":
                self._draw(f"committing {total} files")
        if event in {"committed", "ended"} or (event == "planned" and done == total):
            self._draw("")

    def _line(self, done: int, total: int | None) -> str:
        if total is None:
            return f"{self._doing} {done} files"
        filled = _WIDTH * done // max(total, 1)
        left = int((time.monotonic() - self._start) * (total - done) / done) if done else None
        about_time = "" if left is None else f", {left // 60}:{left % 60:02} left"
        return f"{self._doing} [{'#' * filled}{'-' * (_WIDTH - filled)}] {done}/{total} files{about_time}"

    def _draw(self, text: str) -> None:
        if text == self._drawn or sys.stderr is None:
            return
        self._drawn = text
        sys.stderr.write(f"{_CLEAR}{text}")
        sys.stderr.flush()


# --- Questions to a person in a terminal


def has_terminal() -> bool:
    """Return True if a person can be asked: input and messages are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def ask(question: str) -> str | None:
    """Return the line typed after `question`; None at the end of the input."""
    click.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
    return line.rstrip("\n") if line else None


def ask_key(
    question: str, keys: Mapping[str, str], ask: Callable[[str], str | None], show: Callable[[str], None]
) -> str | None:
    """Return one of `keys` that `ask` gets as the answer to `question`; None at the end of the input.

    A key ``/`` comes with what follows it. Any other answer, also ``?``, makes `show` say what the keys do.
    """
    while (line := ask(question)) is not None:
        typed = line.strip()
        key = typed[:1].lower()
        if key and key != "?" and key in keys:
            return typed if key == "/" else key
        show("".join(f"{each} - {does}\n" for each, does in keys.items() if does))
    return None


def agrees(question: str, ask: Callable[[str], str | None] = ask) -> bool:
    """Return True if the person answers yes; the return key means no."""
    return (ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")


# --- The web browser


def open_in_browser(url: str, environment: Mapping[str, str]) -> None:
    """Open `url` if this process has a terminal and the terminal a desktop.

    Without a desktop the browser would run in the terminal itself, and take it away from the command.
    """
    desktops = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    has_desktop = sys.platform in ("darwin", "win32") or any(map(environment.get, desktops))
    if has_terminal() and has_desktop:
        click.launch(url)
