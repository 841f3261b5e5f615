"""move_item: give a key or list item of a YAML, JSON, TOML or INI file another place."""

from typing import ClassVar, Literal

from mdplan.data.tree import Change, NewEntry, value_at
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import PlacedOperation
from mdplan.operations.base.operation import Resolution


class MoveItem(PlacedOperation):
    """Move a key or list item among its neighbours, in a YAML, JSON, TOML or INI file, or in front matter.

    It goes `before` or `after` another one of the same map or list, or with `inOrder` to where it belongs
    among sorted ones. Its text stays byte by byte; in YAML comments right above it go along.
    """

    may_stay_last: ClassVar = False
    example: ClassVar[dict[str, object]] = {"op": "move_item", "key": "nav.Guide", "before": "Home"}
    moves_text: ClassVar = True

    op: Literal["move_item"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """A deletion and an insertion. Errors: those of `read`, `find` and `place_in`."""
        target = self.read(outline)
        path = target if isinstance(target, Diagnostic) else self.find_there(outline, target)
        if isinstance(target, Diagnostic) or isinstance(path, Diagnostic):
            return tuple(each for each in (path,) if isinstance(each, Diagnostic))
        values = target.content.values
        # A key that is alone in the map of a list item is that item, as in navigation.
        if len(path) > 1 and isinstance(path[-2], int) and len(value_at(values, path[:-1])) == 1:
            path = path[:-1]
        if not path:
            return (Diagnostic.invalid("move_item needs a key", "name the key or item that moves"),)
        own, parent = path[-1], path[:-1]
        names = list(value_at(values, parent))
        at = own if isinstance(own, int) else names.index(own)
        place = self.place_in(values, parent, names[at], own)
        if isinstance(place, Diagnostic):
            return (place,)
        number = len(names) if place is None else place
        changes: list[Change] = [] if number in (at, at + 1) else [NewEntry(parent, place, source=own)]
        return self.resolution(outline, target, [(path, "")], changes)
