"""Documents that make long answers: much of everything that an outline lists, and long names."""

LONG = "n" * 290
MANY = 1_500

DOCUMENTS: dict[str, str] = {
    "headings.md": "".join(f"# {LONG}{number}\n\ntext\n\n" for number in range(MANY)),
    "levels.md": "".join(f"{'#' * (number % 6 + 1)} {LONG}{number}\n\n" for number in range(MANY)),
    "long_line.md": "# A\n\n" + "a" * 2_000_000 + "\n",
    "long_heading.md": "# " + "a" * 1_000_000 + "\n\ntext\n",
    "code.md": "".join(f"```{LONG}{number}\ncode\n```\n\n" for number in range(MANY)),
    "tables.md": ("|" + "|".join(["c" * 50] * 40) + "|\n" + "|-" * 40 + "|\n|a|\n\n") * 200,
    "anchors.md": "".join(f'<a id="{LONG}{number}"></a>\n\n' for number in range(MANY)),
    "links.md": "".join(f"[a](missing{LONG}{number}.md)\n\n" for number in range(MANY)),
    "regions.md": "".join(f"<!-- {LONG}{n}:start -->\na\n<!-- {LONG}{n}:end -->\n\n" for n in range(MANY)),
    "front_matter.md": "---\n" + "".join(f"{'k' * 100}{n}: 1\n" for n in range(500)) + "---\n# A\n",
    "sections.ini": "".join(f"[{LONG}{number}]\n{LONG} = a\n" for number in range(MANY)),
    "plain.txt": "".join(f"=== {LONG}{number} ===\n\n\n; {LONG}\n\n\n\n" for number in range(MANY)),
    "matches.md": "# A\n\n" + "a" * 20_000 + "\n" + "a b\n" * 20_000,
    "wide.md": "# A\n\n" + ("a" + "b" * 5_000 + "\n") * 200,
    "controls.md": "# A\n\n" + "\x01\x02" * 30_000 + "\n",
    "quotes.md": "# A\n\n" + '"\\' * 30_000 + "\n",
}
