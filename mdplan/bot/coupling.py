"""Which files of a manifest have to be planned together, because one has a word in the other.

A file is planned alone unless links lead from it to a place that another file changes, or the other way
round, or an edit of one writes into the other. For all others a plan of one file is what the plan of all
would say of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from mdplan.bot.job import ChangedPlaces
from mdplan.bot.spooled_plans import StandalonePlan


def changed_places(standalone: Iterable[StandalonePlan]) -> ChangedPlaces:
    """The places of all files together; files in different folders can share a name."""
    found: dict[str, frozenset[str] | None] = {}
    for each in standalone:
        for name, keys in each.places.items():
            known = found.get(name, frozenset())
            found[name] = None if keys is None or known is None else keys | known
    return found


def find_coupled_files(
    standalone: Mapping[str, StandalonePlan], links: Mapping[str, frozenset[str]], selected: Iterable[str]
) -> frozenset[str]:
    """Those of the files `selected`, by path, that have to be planned together.

    `links` has for every file that was examined the changed names that it may link to.
    """
    linking = Counter(name for names in links.values() for name in names)
    changing = Counter(name for each in standalone.values() for name in each.places)
    written_into = {
        other
        for path, each in standalone.items()
        if each.needs_others
        for other in each.written
        if other != path
    }
    found: set[str] = set()
    for path in selected:
        own = standalone.get(path)
        own_names = own.places if own is not None else {}
        links_here = links.get(path, frozenset())
        # What a file says of itself was planned with it.
        is_linked = any(linking[name] > (name in links_here) for name in own_names)
        links_to_others = any(changing[name] > (name in own_names) for name in links_here)
        may_be_mended = own is not None and own.has_broken_links and bool(changing)
        if (
            is_linked
            or links_to_others
            or may_be_mended
            or path in written_into
            or (own and own.needs_others)
        ):
            found.add(path)
    return frozenset(found)
