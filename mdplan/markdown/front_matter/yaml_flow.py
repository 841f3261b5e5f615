"""YAML in brackets and braces, edited by cutting at node marks."""

from collections.abc import Mapping, Sequence

import yaml

from mdplan.markdown.front_matter.change import Branch, Splice, kept_items, values_equal, within
from mdplan.markdown.front_matter.values import FrontMatterContent
from mdplan.markdown.front_matter.yaml_layout import flow_text, quote_of
from mdplan.markdown.front_matter.yaml_scalars import string_text
from mdplan.text.edit import TextEdit
from mdplan.text.span import Span


class FlowWriter:
    """Adds the splices of lists in brackets and maps in braces to `splices`."""

    def __init__(self, content: FrontMatterContent, splices: list[Splice]) -> None:
        """Write for the block `content`."""
        self._content = content
        self._text = content.text
        self._splices = splices

    def edit_map(
        self, node: yaml.MappingNode, old: Mapping[str, object], branches: Mapping[str, Branch]
    ) -> None:
        """Changes of the keys of a map in braces, which may become empty."""
        entries = self._content.entries(node)
        gone = [text in branches and branches[text].is_removed for text in entries]
        new = {text: branch for text, branch in branches.items() if text not in entries}
        changes = sorted({change for branch in branches.values() for change in branch.changes})
        if all(gone):
            span = Span(node.start_mark.index, node.end_mark.index)
            filled = {text: branch.as_value for text, branch in new.items()}
            self._add(span, flow_text(filled), changes)
            return
        for text, (key, value) in entries.items():
            if text in branches and not branches[text].is_removed:
                self._edit_value(key, value, old[text], branches[text])
        places = [Span(key.start_mark.index, _end(key, value)) for key, value in entries.values()]
        for span, (text, is_removed) in zip(
            self._cuts(places, gone), zip(entries, gone, strict=True), strict=True
        ):
            if is_removed:
                self._add(span, "", branches[text].changes)
        for text, branch in new.items():
            pair = f"{string_text(text, in_flow=True)}: {flow_text(branch.as_value, in_flow=True)}"
            self._add(Span(places[-1].end, places[-1].end), self._separator(places) + pair, branch.changes)

    def edit_list(
        self, node: yaml.SequenceNode, kept: Sequence[int], added: Sequence[object], changes: list[int]
    ) -> None:
        """A list in brackets with only its items `kept`, at least one, and the items `added` behind them."""
        places = [Span(item.start_mark.index, item.end_mark.index) for item in node.value]
        staying = frozenset(kept)
        gone = [index not in staying for index in range(len(places))]
        for span, is_removed in zip(self._cuts(places, gone), gone, strict=True):
            if is_removed:
                self._add(span, "", changes)
        quote = quote_of(node.value)
        end = places[-1].end
        for item in added:
            text = flow_text(item, quote, in_flow=True)
            self._add(Span(end, end), self._separator(places) + text, changes)

    def _edit_value(self, key: yaml.ScalarNode, node: yaml.Node, old: object, branch: Branch) -> None:
        inner = branch.inner
        value = branch.as_value
        if not inner and values_equal(old, value):
            return
        if not inner and isinstance(value, dict) and isinstance(old, dict) and old and value:
            inner = within(value, old, branch.changes)
        if inner and isinstance(node, yaml.MappingNode) and isinstance(old, dict) and old:
            self.edit_map(node, old, inner)
            return
        if isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(value, list):
            kept = kept_items(old, value)
            if kept:
                self.edit_list(node, kept, value[len(kept) :], branch.changes)
                return
        text = flow_text(value, quote_of([node]), in_flow=True)
        span = Span(node.start_mark.index, node.end_mark.index)
        if not len(span):
            has_colon = ":" in self._text[key.end_mark.index : span.start]
            text = f" {text}" if has_colon else f": {text}"
            span = span if has_colon else Span(key.end_mark.index, key.end_mark.index)
        self._add(span, text, branch.changes)

    def _cuts(self, places: Sequence[Span], gone: Sequence[bool]) -> list[Span]:
        """What to cut for each item that goes: with the comma before it, or behind it where none stays."""
        cuts: list[Span] = []
        stays_before = False
        for index, place in enumerate(places):
            if stays_before:
                cuts.append(Span(places[index - 1].end, place.end))
            else:
                behind = places[index + 1].start if index + 1 < len(places) else place.end
                cuts.append(Span(place.start, behind))
            stays_before = stays_before or not gone[index]
        return cuts

    def _separator(self, places: Sequence[Span]) -> str:
        """What stands between the last two items, if that is a comma and blanks or a line end."""
        between = self._text[places[-2].end : places[-1].start] if len(places) > 1 else ""
        return between.replace("\r\n", "\n").replace("\r", "\n") if between.strip() == "," else ", "

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        self._splices.append(Splice(TextEdit(span, new_text), tuple(changes)))


def _end(key: yaml.ScalarNode, value: yaml.Node) -> int:
    return max(int(key.end_mark.index), int(value.end_mark.index))
