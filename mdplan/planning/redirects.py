"""Leave redirects at the old addresses of renamed pages, where the site keeps them.

That is a list or map in a file, such as `mkdocs.yml`, or the front matter of each page.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from mdplan.data.content import DataContent
from mdplan.data.tree import Path, value_at
from mdplan.diagnostics import Code, Diagnostic, Problems, Refused
from mdplan.markdown.destinations import FileTree
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, LinkStyle, SiteRules, without_suffix
from mdplan.operations.keys import AddToList, DataOperation, DeleteValue, SetValue
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation import Navigation
from mdplan.planning.navigation_entries import read_navigation
from mdplan.planning.sequence import with_post_edits
from mdplan.text.edit import EditList, TextEdit
from mdplan.values import Struct

_ADDRESSES: Final = ("url", "slug", "permalink")


class _Keeper(Struct, kw_only=True):
    """Where a site keeps redirects: a list or map `at` a path.

    `written` is the address of a page there. In a list, an entry has the old address under the first name of
    `names` that entries have, and the new one under `target`. Without names it is a list of old addresses in
    the front matter of the page itself.
    """

    at: Path
    written: Callable[[str], str]
    names: tuple[str, ...] = ()
    target: str = ""
    is_map: bool = False
    is_lines: bool = False


def leave_redirects(
    files: Sequence[BuiltFile], others: Sequence[BuiltFile], tree: FileTree
) -> list[BuiltFile] | Problems:
    """Return `files` with redirects from the old pages of those whose renaming asks for one.

    `others` are the files of the site that may keep them. Errors: INVALID_ARGUMENT where no file does, and
    for what is no page.
    """
    result = {built.file.result_path: built for built in (*files, *others)}
    changed = {built.file.result_path for built in files}
    for built in files:
        if not built.asks_for_redirect:
            continue
        old, new = built.file.relative, built.file.result_path
        place = next(_keepers(result, new, tree), None) if old.lower().endswith(MARKDOWN_SUFFIXES) else None
        if place is None:
            return (_nowhere(built),)
        path, keeper = place
        try:
            updated = _redirected(result[path], keeper, old, new)
        except Refused as refused:
            return tuple(problem.at(file=result[path].file.path) for problem in refused.diagnostics)
        result[path] = updated
        changed.add(path)
    return [result[path] for path in result if path in changed]


def _nowhere(built: BuiltFile) -> Diagnostic:
    return Code.INVALID_ARGUMENT.problem(
        f"no file of the site keeps redirects for `{built.file.path}`",
        "known are mkdocs-redirects in mkdocs.yml, redirects in docs.json, .openpublishing.redirection.json, "
        "_redirects, aliases of Hugo, and jekyll-redirect-from in _config.yml",
        file=built.file.path,
    )


def _keepers(files: Mapping[str, BuiltFile], page: str, tree: FileTree) -> Iterator[tuple[str, _Keeper]]:
    """Yield the files, by their path, that keep redirects to `page`, and how."""
    for path, built in files.items():
        if path.rpartition("/")[2] == "_redirects" and tree.rules.roots:
            yield path, _Keeper(at=(), written=lambda page: _address(tree.rules, page), is_lines=True)
        parsed = read_navigation(path, built.result, tree)
        if parsed is None:
            continue
        navigation, content = parsed
        below = f"{navigation.folder}/" if navigation.folder else ""
        keeper = _keeper(navigation, content.values, tree.rules) if page.startswith(below) else None
        if keeper is not None:
            yield path if keeper.names or keeper.is_map else page, keeper


def _keeper(navigation: Navigation, values: Any, rules: SiteRules) -> _Keeper | None:  # noqa: ANN401 (any value)
    """Return how the site of `navigation` keeps redirects; None if it does not."""

    def route(page: str) -> str:
        return "/" + without_suffix(navigation.written(page) or page, MARKDOWN_SUFFIXES)

    match navigation.kind.tool:
        case "MkDocs":
            at = _redirects_of_mkdocs(values)
            return (
                None
                if at is None
                else _Keeper(at=at, written=lambda page: navigation.written(page) or "", is_map=True)
            )
        case "Mintlify":
            return _Keeper(at=("redirects",), written=route, names=("source",), target="destination")
        case "docfx redirects":
            names = ("source_path_from_root", "source_path")
            return _Keeper(
                at=("redirections",),
                written=lambda page: _address(rules, page),
                names=names,
                target="redirect_url",
            )
        case "Hugo":
            return _Keeper(at=("aliases",), written=lambda page: f"{route(page).rstrip('/')}/".lower())
        case "Jekyll" if "jekyll-redirect-from" in (values.get("plugins") or ()):
            suffix = "/" if str(value_at(values, ("permalink",))).endswith(("pretty", "/")) else ".html"
            return _Keeper(
                at=("redirect_from",),
                written=lambda page: f"{route(page)}{suffix}".replace(f"/index{suffix}", "/"),
            )
    return None


def _address(rules: SiteRules, page: str) -> str:
    """Return the address of `page` by the `rules` of its site."""
    below = (pair for pair in rules.roots if not pair[1] or page.startswith(f"{pair[1]}/"))
    prefix, folder = next(below, ("/", ""))
    style = LinkStyle(prefix, folder, is_page=True, is_index=True)
    return rules.written(page, style, "/page") or f"/{page}"


def _redirects_of_mkdocs(values: Any) -> Path | None:  # noqa: ANN401 (any value)
    """Return the place of the map of mkdocs-redirects, if the site has that plugin."""
    plugins = value_at(values, ("plugins",))
    entries = (
        enumerate(plugins)
        if isinstance(plugins, list)
        else plugins.items()
        if isinstance(plugins, dict)
        else ()
    )
    for key, plugin in entries:
        if key == "redirects":
            return ("plugins", key, "redirect_maps")
        if isinstance(plugin, dict) and "redirects" in plugin:
            return ("plugins", key, "redirects", "redirect_maps")
    return None


def _redirected(built: BuiltFile, keeper: _Keeper, old: str, new: str) -> BuiltFile:
    """Return `built` with a redirect from the page `old` to `new`; none leads away from `new` any more."""
    source, target, at = keeper.written(old), keeper.written(new), list(keeper.at)
    if keeper.is_lines:
        lines, end = built.result.source.lines, len(built.result.source.text)
        before = "" if not end or lines.ending(lines.count) else "\n"
        return _edited(built, [TextEdit.insert(end, f"{before}{source} {target} 301\n")])
    content = data_content(built.result)
    values = content.values if isinstance(content, DataContent) else {}
    found = value_at(values, keeper.at)
    if keeper.is_map:
        if isinstance(found, dict) and target in found:
            built = _with(built, DeleteValue, key=[*at, target])
        return _with(built, SetValue, key=[*at, source], value=target, createIfMissing=True)
    if not keeper.names:
        # A page that says its address itself keeps it.
        has_own = any(name in values for name in _ADDRESSES)
        return built if has_own else _with(built, AddToList, key=at, value=[source], createIfMissing=True)
    entries = [entry if isinstance(entry, dict) else {} for entry in found] if isinstance(found, list) else []
    name = next((name for name in keeper.names if any(name in entry for entry in entries)), keeper.names[0])
    sources = {"source_path": (old, new), "source_path_from_root": (f"/{old}", f"/{new}")}
    old_source, new_source = sources.get(name, (source, target))
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].get(name) in {old_source, new_source}:
            built = _with(built, DeleteValue, key=[*at, index])
    entry = {name: old_source, keeper.target: target}
    return _with(built, AddToList, key=at, value=[entry], createIfMissing=True)


def _with(built: BuiltFile, operation: type[DataOperation], **fields: object) -> BuiltFile:
    """Return `built` with an edit of its result."""
    (op,) = get_args(operation.model_fields["op"].annotation)
    return _edited(built, operation.model_validate({"op": op, **fields}).resolve(built.result).edits)


def _edited(built: BuiltFile, edits: Iterable[TextEdit]) -> BuiltFile:
    made = EditList.of(edits)
    updated = with_post_edits(built, made) if isinstance(made, EditList) else None
    if updated is None:
        raise Code.INVALID_ARGUMENT.refused(
            "the encoding of the file has no such redirect", "convert it to UTF-8 first"
        )
    return updated
