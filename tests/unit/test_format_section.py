"""format_section without mdformat, with a failing mdformat, and with too deep text."""

import sys

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown import formatting as formatter
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Resolution
from mdplan.operations.sections import FormatSection
from mdplan.text.source import Source


def problem(text: str) -> Diagnostic:
    outline = Outline(Source.from_text(text))
    found = FormatSection(op="format_section", heading="Use").resolved(outline)
    assert not isinstance(found, Resolution)
    (only,) = found
    return only


@pytest.fixture
def fresh_parser() -> None:
    """Discard cached parsers before and after the test."""
    formatter.formatting_parser.cache_clear()
    yield
    formatter.formatting_parser.cache_clear()


@pytest.mark.usefixtures("fresh_parser")
def test_without_mdformat_the_hint_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mdformat", "mdformat.plugins", "mdformat.renderer"):
        monkeypatch.setitem(sys.modules, name, None)
    found = problem("# Use\n\n* a\n")

    assert found.code is Code.FORMATTER_FAILED
    assert found.message == "mdformat is not installed, or its GFM plugin is not"
    assert found.hint == 'install the extra: `pip install "mdplan[mdformat]"`'


@pytest.mark.usefixtures("fresh_parser")
def test_missing_gfm_plugin_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = pytest.importorskip("mdformat.plugins", reason="mdformat is not installed")
    monkeypatch.setattr(plugins, "PARSER_EXTENSIONS", {}, raising=False)

    assert "plugin is not" in problem("# Use\n\n* a\n").message


def test_error_in_mdformat_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(formatter, "_rendered", fail)
    found = problem("# A\n\n# Use\n\n* a\n")

    assert found.code is Code.FORMATTER_FAILED
    assert found.message == "the text at line 3 cannot be formatted: mdformat stopped with KeyError"


def test_text_that_is_nested_too_deep_is_refused() -> None:
    pytest.importorskip("mdformat", reason="mdformat is not installed")

    assert "nested deeper" in problem("# Use\n\n" + "- " * 300 + "x\n").message
    assert problem("# Use\n\n" + "> " * 380 + "x\n").code is Code.FORMATTER_FAILED


def test_formatting_that_loses_a_heading_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    block = formatter.FormattedBlock(1, 1, ("Use",))
    monkeypatch.setattr("mdplan.markdown.formatting.format_blocks", lambda *_, **_named: (block,))

    assert problem("# Use\n").message.endswith("its headings would not be the same")
