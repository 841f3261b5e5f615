"""Files that other editors damage: each holds the line `TARGET` once, and what must come through unharmed."""

from dataclasses import dataclass

TARGET = "target line"
# Text that is special in replacements of regular expressions, or in shells.
NEW = r"new $& $1 \1 \g<0> \n ${x} %s line"


@dataclass(frozen=True)
class AwkwardFile:
    """`text` in `encoding`, with the line end that stands around the line `TARGET`."""

    text: str
    line_end: str = "\n"
    encoding: str = "utf-8"

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)

    @property
    def line(self) -> int:
        """1-based number of the line `TARGET`."""
        before = self.text.partition(TARGET)[0].replace("\r\n", "\n").replace("\r", "\n")
        return before.count("\n") + 1

    def with_line(self, new: str) -> bytes:
        """The bytes with other text in place of `TARGET`."""
        assert self.text.count(TARGET) == 1
        return self.text.replace(TARGET, new).encode(self.encoding)

    def without_line(self) -> bytes:
        assert self.text.count(TARGET + self.line_end) == 1
        return self.text.replace(TARGET + self.line_end, "").encode(self.encoding)


AWKWARD = {
    "CRLF": AwkwardFile(f"# A\r\n\r\nabove\r\n{TARGET}\r\nbelow\r\n", "\r\n"),
    "mixed line ends": AwkwardFile(f"# A\n\nabove\r\n{TARGET}\r\nbelow\rmore\n", "\r\n"),
    "lone CR": AwkwardFile(f"# A\r\rabove\r{TARGET}\rbelow\r", "\r"),
    "byte order mark": AwkwardFile(f"\ufeff# A\n\nabove\n{TARGET}\nbelow\n"),
    "UTF-16": AwkwardFile(f"# A\r\n\r\nabove \u20ac\r\n{TARGET}\r\nbelow\r\n", "\r\n", "utf-16"),
    "byte that is no UTF-8": AwkwardFile(f"# A\n\ncaf\xe9\n{TARGET}\nbelow \xff\n", "\n", "latin-1"),
    "no final newline": AwkwardFile(f"# A\n\nabove\n{TARGET}\nbelow"),
    "two final newlines": AwkwardFile(f"# A\n\nabove\n{TARGET}\nbelow\n\n"),
    "trailing blanks": AwkwardFile(f"# A  \n \t \nabove  \n{TARGET}\nbelow\t\n"),
    "unicode line separators": AwkwardFile(f"# A\x0c\n\nx\u2028y\u2029\x85\x0b\x1c\n{TARGET}\nbelow\u2028\n"),
    "control characters": AwkwardFile(f"# A\n\n\x1b[31m\x07\n{TARGET}\n\x7fbelow\n"),
    "decomposed letters": AwkwardFile(
        f"# Ane\u0301\n\n\xe9\u0301\U0001f469\u200d\U0001f680\n{TARGET}\nbelow\n"
    ),
}
