r"""What a line can begin, as the scanner sees it: named patterns, with their section of CommonMark 0.31.2.

Patterns begin with the line end *before* their line, so that searching jumps from line to line; the text that
they are used on has one such line end before the first line that is looked at, and one behind its last. They
say what holds at the root of a document; columns up to 3 are indentation there (section 2.2: a tab is never
one of them).
"""

import re
from typing import Final

INDENTATION: Final = r" {0,3}"
# Section 4.2.
_ATX: Final = r"\#\#{0,5}+(?=[ \t\n])"
# Section 4.5: no backtick may follow those of a fence.
_FENCE: Final = r"`{3,}+(?=[^`\n]*\n)|~{3,}"
# Section 4.1. Dashes without blanks between them can underline a heading, too.
_RULE_OF: Final = r"(?:{0}[ \t]*+){{3,}}+(?=\n)"
_STARS_OR_LINES: Final = rf"{_RULE_OF.format('[*]')}|{_RULE_OF.format('_')}"
_DASHES: Final = _RULE_OF.format("-")
# Section 4.3.
_UNDERLINE: Final = r"(?:-++|=++)[ \t]*+(?=\n)"
# Section 5.2.
_MARKER: Final = r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\n])"
# Section 4.6: what begins like one of the seven kinds.
_TAG: Final = r"<[A-Za-z/!?]"
# Section 4.4.
_CODE: Final = r"(?:[ ]{4}|[ ]{0,3}\t)(?=[ \t]*+[^ \t\n])"

# The next line that can be more than the text of a paragraph. The group tells which class it is of. It is
# empty and stands behind its pattern: `re` tries one that begins with a group on lines of all other classes.
START: Final = re.compile(
    rf"""\n(?=[ \t\#`~>+*<_=0-9-])(?:[ ]{{0,3}}+(?:
        {_ATX}[^\n]*+(?P<atx>)
      | (?:{_FENCE})(?P<fence>)
      | >(?P<quote>)
      | (?!-++[ \t]*+\n)(?:{_STARS_OR_LINES}|{_DASHES})(?P<rule>)
      | (?:{_UNDERLINE})(?P<underline>)
      | (?:{_MARKER})(?P<item>)
      | {_TAG}(?P<html>)
    )|{_CODE}(?P<code>))""",
    re.VERBOSE,
)

# A line that is an ATX heading, unless it stands in code or the like.
HEADING_LINE: Final = re.compile(rf"\n{_ATX}[^\n]*+\n")
# A line that ends every paragraph, quote and list item that it does not belong to, lazy or not. HTML of kinds
# 1 to 6 does so, too; finding out is more work.
_NO_QUOTE: Final = rf"{_ATX}|{_FENCE}|{_STARS_OR_LINES}|{_DASHES}|{_MARKER}"
INTERRUPTING: Final = rf"\n{INDENTATION}(?:>|{_NO_QUOTE})"
INTERRUPTER: Final = re.compile(INTERRUPTING)
# A place at which a quote, lazy lines included, has ended for certain.
QUOTE_HAS_ENDED: Final = re.compile(rf"\n[ \t]*+(?=\n)|\n(?={INDENTATION}(?:{_NO_QUOTE}))")
# Without indentation.
FENCE: Final = re.compile(rf"\n(?:{_FENCE})")
# An item, and no rule. The group tells that it has text one blank behind its marker, as most have.
ITEM: Final = re.compile(
    rf"\n{INDENTATION}(?!{_STARS_OR_LINES}|{_DASHES})(?:{_MARKER})(?: (?=[^ \t\n])(?P<plain>))?"
)

BLANK: Final = re.compile(r"\n[ \t]*+(?=\n)")
BLANKS: Final = re.compile(r"(?:\n[ \t]*+(?=\n))*+")
# Lines of an indented code block: blank ones only between others.
CODE_LINES: Final = re.compile(
    rf"(?:\n{_CODE}[^\n]*+|(?:\n[ \t]*+(?=\n))++(?=\n{_CODE}))++",
)
# Any line with a quote mark goes on with a quote, however far it is indented (the parser's own rule).
QUOTE_LINES: Final = re.compile(r"(?:\n[ \t]*+>[^\n]*+)++")
# A paragraph, or what stands like one: lines without a blank one between them.
CHUNK: Final = re.compile(r"(?:\n[ \t]*+[^ \t\n][^\n]*+)++")
# GFM, section 4.10: a line that can stand below the header of a table. Dashes alone underline a heading.
DELIMITER_ROW: Final = re.compile(rf"\n{INDENTATION}(?=[ \t-]*+[|:])[|:-][|: \t-]*+(?=\n)")
# Section 4.7: a line that can begin a link reference definition.
BRACKET: Final = re.compile(rf"\n{INDENTATION}\[")

# What is cut from both ends of inline text: the white space of ECMAScript without U+FEFF.
TRIMMED: Final = "\t\n\x0b\x0c\r \xa0\u1680\u202f\u205f\u3000\u2028\u2029" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)

# In quotes and lists: marks of containers, then what may be a heading, its own marks or an underline. A mark
# can be an underline, too: the last one of its line.
_MARKS: Final = r"[ \t>+*.)0-9-]"
_NO_DASHES: Final = r"[ \t>+*.)0-9]*+"
NESTED_HEADING: Final = re.compile(
    rf"\n(?:{_MARKS}*+(?:{_ATX}|==*+[ \t]*+\n)"
    rf"|(?:{_NO_DASHES}-(?=[ \t]++[^\n]))*+{_NO_DASHES}-++[ \t]*+\n)"
)
# So many marks that the parser could reach the limit of its nesting.
DEEP: Final = re.compile(rf"\n{_MARKS}{{80}}")
# So many blanks that code can stand behind them, in a container: behind a mark, or at the start of a line.
NESTED_CODE: Final = re.compile(r"[>+*.)-](?: {5}| {0,4}\t)|\n(?: {6}| {0,5}\t)")
