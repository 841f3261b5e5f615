"""Review of plans: list them, show their content, and record decisions.

The terminal, the page and comments on pull requests are views of this module.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from mdplan.client import Client
from mdplan.decisions import (
    MOST_COMMENT_CHARACTERS,
    MOST_LINE_COMMENTS,
    NO_REMARKS,
    UNDECIDED,
    Channel,
    DecidedClass,
    DecidedPlace,
    Decision,
    DecisionHistory,
    DecisionRevoked,
    LineComment,
    Remarks,
    Side,
    Verdict,
)
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.engine.approval import STALE_DECISION, decision_problems, rejection_of, shown_part
from mdplan.engine.comparison import difference_of
from mdplan.engine.engine import Engine
from mdplan.engine.history import PastTransaction
from mdplan.engine.plans import MergeService, PlanCache
from mdplan.plan import FileChange, Plan
from mdplan.planning.plan_document import untitled_id
from mdplan.planning.replay import FoundFile, bases_of, is_applied, stale_file
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ReviewReport
from mdplan.review import plan_review, shapes
from mdplan.review.lines import FileSides
from mdplan.review.shapes import Choices, ChosenEdits, chosen_edits
from mdplan.storage import plans
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.storage.root import Root
from mdplan.text.diff import DiffText, file_diff
from mdplan.text.source import Source, sha256_hex, visible
from mdplan.values import Struct, field, replace
from mdplan.words import say

# Few plans are merged: what does that is loaded for these.
if TYPE_CHECKING:
    from mdplan.merge.documents import ConflictPlace
    from mdplan.planning.merging import Sides


class DecisionTerms(Struct, kw_only=True):
    """How a person decides: the version of the decisions that they `saw`, and where.

    `overrides` is the explicit wish to approve in spite of a rejection. `places` of accepted edits are
    rejected, or get another text. `classes` are those that were decided as such.
    """

    saw: str = UNDECIDED
    channel: Channel = Channel.APP
    overrides: bool = False
    places: tuple[DecidedPlace, ...] = ()
    classes: tuple[DecidedClass, ...] = ()


_NO_TERMS: Final = DecisionTerms()


class ReviewState(StrEnum):
    """The state of a plan. A partly approved plan counts as approved; the part is another plan.

    In order of precedence: events since it was last saved, then decisions, then the state of its files.
    """

    PENDING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes requested"
    APPLIED = "applied"
    UNDONE = "undone"
    DISCARDED = "discarded"
    SUPERSEDED = "superseded"
    ALREADY_SO = "already so"
    STALE = "stale"

    @property
    def may_be_applied(self) -> bool:
        """True if a person may want to apply the plan; a stale one needs a merge or a rebase."""
        return self in {ReviewState.PENDING, ReviewState.APPROVED, ReviewState.STALE}

    @property
    def is_result(self) -> bool:
        """True if the files have the planned text, or had it when it was applied."""
        return self in {ReviewState.APPLIED, ReviewState.ALREADY_SO}


class ReviewEntry(Struct, kw_only=True):
    """One plan in the list. `saved_at` is in seconds since the epoch; `root` is empty where there is one.

    `client` is the program that made it, as far as it is known. `reason` says why it is stale or superseded.
    """

    state: ReviewState
    reason: str
    saved_at: float
    root: str
    review: plan_review.PlanReview
    decision: Decision | None
    client: Client | None


# --- A plan under review.

_Part = TypeVar("_Part")


# Plans whose classes a server keeps.
_MOST_CLASSIFIED: Final = 8


class OpenPlan(Struct, kw_only=True, dict=True):
    """An open plan. `review` summarizes it; `file` and `section` return the details piece by piece.

    `decision` is the effective one, possibly on a plan that this one was derived from. `stale` lists the
    sections that changed since the plan was made, and `since` the differences of the files. `bases` are the
    files before the plan, or None if their content is no longer known; `without_text` says why. `client` made
    the plan, if known, to replace the plan `revises`, whose decided classes are `carried`.
    """

    plan: Plan
    root: Root
    review: plan_review.PlanReview
    state: ReviewState
    decision: Decision | None
    decisions: DecisionHistory
    documents: Documents
    client: Client | None
    stale: Problems = ()
    bases: Sequence[Source] | None = None
    without_text: Problems = ()
    revises: str | None = None
    carried: tuple[DecidedClass, ...] = ()
    since: tuple[tuple[str, str], ...] = ()
    known_classes: dict[str, tuple[shapes.ChangeClass, ...]] = field(default_factory=dict)

    @property
    def can_approve(self) -> bool:
        """True if an approval could lead to a commit."""
        return not self.state.is_result and self.state is not ReviewState.STALE

    def file(self, index: int) -> plan_review.FileReview | Problems:
        """Return the file at `index` of the plan, with its hunks.

        Errors: PLAN_TAMPERED, STALE_BASE, PARSE_TIMEOUT; as `without_text`.
        """
        return self._with_timeout(index, lambda sides: plan_review.review_file(self.plan, self.review, sides))

    @cached_property
    def classes(self) -> tuple[shapes.ChangeClass, ...]:
        """The classes of its places; files whose text is not known have none."""
        if self.plan.plan_id not in self.known_classes:
            while len(self.known_classes) >= _MOST_CLASSIFIED:
                self.known_classes.pop(next(iter(self.known_classes)), None)
            self.known_classes[self.plan.plan_id] = shapes.classes_of(self.plan, self._shapes())
        return self.known_classes[self.plan.plan_id]

    def _shapes(self) -> Iterator[shapes.PlacedShape]:
        of_plan = shapes.PlanShapes(self.plan)
        for index, change in enumerate(self.plan.files):
            if not change.is_no_op:
                found = self._with_timeout(index, of_plan.of_file)
                yield from found if isinstance(found, list) else ()

    def chosen(self, choices: Choices) -> ChosenEdits:
        """Apply `choices` to the edits."""
        needs_classes = any(name.startswith(("class", "place")) for name in choices)
        files = {edit.index: edit.files for edit in self.review.edits}
        chosen = chosen_edits(choices, self.classes if needs_classes else (), files)
        if not (chosen.accepted or chosen.in_part):
            return chosen
        # Nobody is asked about what changes nothing.
        idle = {edit.index for edit in self.review.edits if edit.result.no_op} & chosen.undecided
        return replace(chosen, accepted=chosen.accepted | idle, undecided=chosen.undecided - idle)

    def place(self, place: shapes.Place) -> "ShownPlace | Problems":
        """Return the line of `place` before and after. Errors: those of `file`."""
        return self._with_timeout(place.file, lambda sides: _shown_place(sides, place))

    def comments_on(self, places: Sequence[DecidedPlace]) -> Iterator[LineComment]:
        """Yield comments on the first `places`, which tell the author about them."""
        for number, decided in enumerate(places[: _MOST_PLACES_TOLD + 1]):
            shown = self.place(shapes.Place(decided.file, decided.number))
            if isinstance(shown, ShownPlace):
                said = "Left out." if decided.text is None else f"Changed to: {decided.text}"
                more = len(places) - number
                said = f"Left out, like {more - 1} more places." if number == _MOST_PLACES_TOLD else said
                yield LineComment(
                    file=self.plan.files[decided.file].path,
                    side=shown.side,
                    start=shown.line,
                    end=shown.line,
                    text=said[:MOST_COMMENT_CHARACTERS],
                )

    def split(self, places: Sequence[DecidedPlace]) -> dict[int, list[tuple[dict[str, Any], bool]]]:
        """Return edits of their own for each place of the edits that `places` are of.

        Raises `StorageRefused`: CONFLICTING_EDITS for places that cannot stand alone.
        """
        decided = {shapes.Place(each.file, each.number): each for each in places}
        owners = {place: of for one in self.classes for place, of in zip(one.places, one.owners, strict=True)}
        edits = {owner for place in decided for owner in owners.get(place, ())}
        parts: dict[int, list[tuple[dict[str, Any], bool]]] = {}
        for place, of in sorted(owners.items()):
            index = next((owner for owner in of if owner in edits), None)
            if index is None:
                continue
            own_file = self.review.numbers.place(index)[0]
            change = self.plan.files[place.file]
            is_alone = len(of) == 1 and place.number != shapes.WHOLE_FILE and change.path == own_file
            if not is_alone or self.plan.options.get("sequential") or self.bases is None:
                raise StorageRefused((_not_alone(self.review.numbers.named(index), change.path, index),))
            mark = decided.get(place)
            text = mark.text if mark is not None else None
            parts.setdefault(index, []).append(
                (_replacement(change, self.bases[place.file], place, text), mark is None or text is not None)
            )
        return parts

    def places_of(self, edit_index: int) -> list[tuple[shapes.Place, str, str]]:
        """Return the places of an edit, each with the text that it removes and the text that it adds.

        Raises `StorageRefused` as `split`.
        """
        own = [
            place
            for one in self.classes
            for place, owners in zip(one.places, one.owners, strict=True)
            if edit_index in owners
        ]
        self.split([DecidedPlace(file=place.file, number=place.number) for place in own])
        assert self.bases is not None, "`split` needs them"
        edits = [(place, self.plan.files[place.file].edits.edits[place.number]) for place in sorted(own)]
        return [
            (place, self.bases[place.file].text[edit.span.start : edit.span.end], edit.new_text)
            for place, edit in edits
        ]

    def texts(self, index: int) -> tuple[list[str], list[str]] | None:
        """Return the lines of the file at `index` before and after the plan, or None if unknown."""
        sides = self._sides(index)
        if not isinstance(sides, FileSides):
            return None
        return _lines(sides.base.text), _lines(sides.result_text)

    def section(self, edit_index: int, file_index: int) -> plan_review.TouchedSection | Problems | None:
        """Return the section that an edit touches in a file, before and after, or None outside of sections.

        Errors: as `file`.
        """
        edit = next(edit for edit in self.review.edits if edit.index == edit_index)
        return self._with_timeout(file_index, lambda sides: plan_review.touched_section(sides, edit.result))

    def context(self, index: int, first: int, last: int) -> list[plan_review.ReviewedLine] | Problems:
        """Return the lines `first` to `last` of the result of a file, without the lines in its hunks.

        Errors: as `file`.
        """
        return self._with_timeout(index, lambda sides: plan_review.unchanged_lines(sides, first, last))

    def found(self, index: int, text: str, limit: int) -> list[plan_review.FoundLine] | Problems:
        """Return the first `limit` lines of the diff of a file that contain `text`. Errors: as `file`."""
        return self._with_timeout(
            index, lambda sides: list(islice(plan_review.found_lines(sides, text), limit))
        )

    def _with_timeout(self, index: int, read: Callable[[FileSides], _Part]) -> _Part | Problems:
        """Return what `read` returns for the file at `index`. Errors: as above."""

        def read_file() -> _Part | Problems:
            sides = self._sides(index)
            return read(sides) if isinstance(sides, FileSides) else sides

        part = self.documents.with_timeout(self.plan.files[index].path, read_file)
        return (part,) if isinstance(part, Diagnostic) else part

    def _sides(self, index: int) -> FileSides | Problems:
        if self.bases is None:
            return self.without_text
        change, base = self.plan.files[index], self.bases[index]
        # Files are read when they are examined.
        problem = stale_file(change, FoundFile.of(base)) if change.base_sha256 is not None else None
        if problem is not None:
            return (problem,)
        sides = FileSides.of(change, base)
        return sides if isinstance(sides, FileSides) else (sides,)


class ShownPlace(Struct, kw_only=True):
    """The first line that a place changes, before and after; `line` is its number on the `side`."""

    side: Side
    line: int
    before: str
    after: str


_MOST_PLACES_TOLD: Final = 20
_MOST_OF_A_PLACE: Final = 300


def _shown_place(sides: FileSides, place: shapes.Place) -> ShownPlace:
    before, after = sides.base.lines, sides.result_lines
    if place.number == shapes.WHOLE_FILE or not sides.edits.edits:
        return ShownPlace(side=Side.AFTER, line=1, before="", after="")
    edit, now = sides.edits.edits[place.number], sides.edits.result_spans[place.number]
    # What is inserted starts with the line end of the line before it.
    lead = len(edit.new_text) - len(edit.new_text.lstrip("\r\n"))
    is_gone = not edit.new_text.strip()
    old_line, new_line = before.line_at(edit.span.start), after.line_at(min(now.start + lead, now.end))
    start, text = before.start(old_line), sides.base.text
    end = max(before.content_end(before.line_at(edit.span.end)), edit.span.end)
    # Of the line after, other places of it are not shown as changed.
    whole = text[start : edit.span.start] + edit.new_text + text[edit.span.end : end]
    shown = whole[lead + edit.span.start - start :] if lead else whole
    return ShownPlace(
        side=Side.BEFORE if is_gone else Side.AFTER,
        line=old_line if is_gone else new_line,
        before=visible(before.content(old_line)[:_MOST_OF_A_PLACE]) if edit.span else "",
        after=visible(shown.lstrip("\r\n").split("\n")[0][:_MOST_OF_A_PLACE]),
    )


def _replacement(change: FileChange, base: Source, place: shapes.Place, text: str | None) -> dict[str, Any]:
    """Return an edit for `place` alone, with another `text` if a person gave one."""
    edit = change.edits.edits[place.number]
    start, end = base.lines.position(edit.span.start), base.lines.position(edit.span.end)
    return {
        "op": "replace_range",
        "range": to_wire({"start": start, "end": end}),
        "expectedText": base.text[edit.span.start : edit.span.end],
        "replacement": edit.new_text if text is None else text,
    }


def _not_alone(edit: str, file: str, index: int) -> Diagnostic:
    return Code.CONFLICTING_EDITS.problem(
        f"{edit} cannot be accepted in part: its places depend on one another",
        "accept or reject the whole edit",
        file=file,
        edit_index=index,
    )


# Changes since a stale plan was made are shown for so many files.
_MOST_SINCE: Final = 20


def _since(plan: Plan, bases: Sequence[Source], files: Sequence[FoundFile]) -> Iterator[tuple[str, str]]:
    """Yield path and diff of the first changed files."""
    changed = (
        (change.path, base, file)
        for change, base, file in zip(plan.files, bases, files, strict=True)
        if change.base_sha256 is not None and file.sha256 != change.base_sha256
    )
    for path, base, file in islice(changed, _MOST_SINCE):
        now = file.read()
        hunks, _ = difference_of(base.text, now.text if now is not None else "")
        yield path, DiffText.of(file_diff(path, path if now is not None else None, hunks)).text


class ReviewService:
    """Review of the plans of `engine`. `clock` gives seconds since the epoch."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self._plans = PlanCache(engine.library)
        self._classes: dict[str, tuple[shapes.ChangeClass, ...]] = {}
        self._clock = clock

    def entries(self, limit: int = 50, skip: int = 0) -> list[ReviewEntry]:
        """Return `limit` plans, last saved first, after skipping `skip`.

        Omits plans that cannot be read or change nothing.
        """
        committed = self._committed()
        entries: list[ReviewEntry] = []
        for stored, root in self.engine.library.pending()[skip : skip + limit]:
            loaded = self._plans.load(stored.plan_id)
            if isinstance(loaded, Diagnostic) or loaded[0].is_no_op:
                continue
            plan = loaded[0]
            decided = _DecisionState.of(root, plan)
            current_files = self.engine.documents.read_current(plan)
            state = _state(plan, decided, current_files, self._done(stored, root, committed))
            entries.append(
                ReviewEntry(
                    state=state,
                    reason=_reason(state, stored, plan, current_files),
                    saved_at=stored.saved_at,
                    root=root.name,
                    review=plan_review.review_plan(plan),
                    decision=decided.decision,
                    client=self.engine.library.client_of(plan.plan_id, root),
                )
            )
        return entries

    def open(self, plan_id: str) -> OpenPlan | Problems:
        """Return the plan with that ID or unique prefix. Errors: PLAN_NOT_FOUND, PLAN_TAMPERED."""
        loaded = self._plans.load(plan_id)
        if isinstance(loaded, Diagnostic):
            return (loaded,)
        plan, root = loaded
        decided = _DecisionState.of(root, plan)
        current_files = self.engine.documents.read_current(plan)
        revises = plans.PlanLinks(root.path, "revises").last_of(plan.plan_id)
        revised = plans.DecisionStore(root.path).of(revises) if revises is not None else None
        opened = OpenPlan(
            plan=plan,
            root=root,
            review=plan_review.review_plan(plan),
            state=_state(
                plan,
                decided,
                current_files,
                self._done(self.engine.library.stored(plan.plan_id), root, self._committed()),
            ),
            decision=shown_part(decided.decision, plan, root)[0] if decided.decision is not None else None,
            decisions=decided.standing,
            documents=self.engine.documents,
            client=self.engine.library.client_of(plan.plan_id, root),
            revises=revises,
            carried=revised.classes if revised is not None else (),
            known_classes=self._classes,
        )
        stale = () if isinstance(current_files, list) else current_files
        if isinstance(current_files, list):
            stale = self.engine.documents.stale(plan, current_files)
            if not stale:
                return replace(opened, bases=bases_of(plan, current_files))
            bases = None if opened.state.is_result else self._past_bases(plan, current_files)
            if bases is not None:
                since = tuple(_since(plan, bases, current_files))
                return replace(opened, stale=stale, bases=bases, since=since)
        if not opened.state.is_result:
            opened = replace(opened, stale=stale)
        try:
            past = self.engine.past.of_plan(plan.plan_id)
            committed = self.engine.undoing.committed(granted(past or _NO_BASE))
        except StorageRefused as refused:
            return replace(opened, without_text=opened.stale or refused.problems)
        plan = committed.plan
        return replace(opened, plan=plan, review=plan_review.review_plan(plan), bases=committed.bases)

    def _past_bases(self, plan: Plan, current_files: Sequence[FoundFile]) -> list[Source] | None:
        """Return the files of a stale plan as they were when it was made, or None if not kept."""
        kept = self.engine.library.bases_of(plan.plan_id)
        pairs = zip(plan.files, current_files, strict=True)
        bases = [self.engine.merging.base_of(change, file, kept) for change, file in pairs]
        known = [base for base in bases if base is not None]
        return known if len(known) == len(bases) else None

    def earlier(self, opened: OpenPlan) -> ReviewReport | None:
        """Return the review of the plan that `opened` revises, with the differences, or None."""
        return self.engine.feedback.earlier(opened.plan, opened.root)

    def decide(
        self,
        plan_id: str,
        by: str,
        verdict: Verdict,
        remarks: Remarks = NO_REMARKS,
        *,
        rejected: Collection[int] = (),
        terms: DecisionTerms = _NO_TERMS,
    ) -> Decision | Problems:
        """Record the decision of the user `by`: approve the plan without the edits `rejected`, or refuse it.

        Also record the places of `terms`, and tell the author. A partial approval also stores and approves
        the plan of what was accepted, and names it in the decision. A rejection (also of all edits) and a
        request for changes, which needs remarks, revoke the approvals of derived plans. Errors:
        PLAN_NOT_FOUND, PLAN_TAMPERED; STALE_DECISION if `terms` name another version; INVALID_ARGUMENT;
        IO_ERROR. For approvals also STALE_BASE if the files changed; PLAN_REJECTED or CHANGES_REQUESTED
        unless `terms` override it; CONFLICTING_EDITS if accepted edits need rejected ones.
        """
        if verdict is Verdict.CHANGES_REQUESTED and remarks.is_empty:
            return (_NO_COMMENT,)
        try:
            opened = granted(self.open(plan_id))
            on_lines = (*remarks.line_comments, *opened.comments_on(terms.places))
            remarks = placed_remarks(opened, replace(remarks, line_comments=on_lines))
            decision = Decision(
                plan_id=opened.plan.plan_id,
                verdict=verdict,
                decided_by=by,
                decided_at=self._clock(),
                approved_plan_id=None,
                channel=terms.channel,
                remarks=remarks,
                places=terms.places,
                classes=terms.classes,
            )
            if verdict is Verdict.APPROVED:
                decision = self._approval(decision, opened, rejected, terms)
            self._record(decision, opened, terms)
        except StorageRefused as refused:
            return refused.problems
        return decision

    def _approval(
        self, decision: Decision, opened: OpenPlan, rejected: Collection[int], terms: DecisionTerms
    ) -> Decision:
        """Return `decision` as an approval without the edits `rejected`; a rejection if these are all."""
        everything = {edit.index for edit in opened.review.edits}
        out = tuple(sorted(everything.intersection(rejected)))
        if out and len(out) == len(everything):
            return replace(decision, verdict=Verdict.REJECTED)
        granted(opened.stale or _approval_problem(opened.decisions, terms))
        approved = opened.plan.plan_id
        if out or decision.places:
            accepted = everything.difference(out)
            part = self.engine.committer.select(opened.plan, accepted, opened.split(decision.places))
            approved = part.plan.plan_id
        overrides = opened.decisions.is_rejected
        return replace(decision, approved_plan_id=approved, rejected=out, overrides=overrides)

    def _record(self, decision: Decision, opened: OpenPlan, terms: DecisionTerms) -> None:
        """Store `decision` on the plan `opened`, and for a part that was approved, the one on that."""
        store = plans.DecisionStore(opened.root.path)
        if store.history(decision.plan_id).version != terms.saw:
            raise StorageRefused((STALE_DECISION,))
        part = decision.approved_plan_id if not decision.approves else None
        if part is not None and store.history(part).is_rejected and not terms.overrides:
            raise StorageRefused((_must_override(store.history(part)),))
        # Revoke first: a crash between the two steps then allows too little, not too much.
        self._revoke_derived(decision, opened)
        granted(decision_problems(store.add(decision.plan_id, decision, terms.saw)))
        if part is not None:
            on_part = _of_part(decision)
            granted(decision_problems(store.add(part, on_part, store.history(part).version)))
        store.forget_older(self._clock() - self.engine.settings.plans_kept_days * _SECONDS_OF_A_DAY)

    def _revoke_derived(self, decision: Decision, opened: OpenPlan) -> None:
        """Revoke the approvals that a rejection takes back, or the part that an earlier decision approved."""
        origins, store = plans.PlanLinks(opened.root.path, "derived"), plans.DecisionStore(opened.root.path)
        if decision.is_rejection:
            # The untitled plan connects plans with the same edits and different titles.
            origins.add(untitled_id(opened.plan), decision.plan_id)
            derived = origins.derived_from(decision.plan_id)
        else:
            earlier = store.of(decision.plan_id)
            part = earlier.approved_plan_id if earlier is not None else None
            derived = frozenset({part} if part is not None and part != decision.plan_id else ())
        for plan_id in sorted(derived):
            standing = store.history(plan_id)
            if not standing.is_approved and (not decision.is_rejection or standing.used_by is None):
                continue
            event = DecisionRevoked(
                by=decision.decided_by, at=decision.decided_at, because_of=decision.plan_id
            )
            granted(decision_problems(store.add(plan_id, event, standing.version)))

    def _committed(self) -> "_Commits":
        """Return the last known commit time of each plan, and True if it was undone."""
        commits: dict[str, tuple[float, bool]] = {}
        for past, undone_by in self.engine.past.with_undos():
            if isinstance(past, PastTransaction) and past.is_committed and past.note.plan_id is not None:
                commits.setdefault(
                    past.note.plan_id, (past.note.committed_at or float("inf"), undone_by is not None)
                )
        return commits

    def _done(self, stored: plans.StoredPlan, root: Root, committed: "_Commits") -> ReviewState | None:
        """Return the state of a plan since it was last saved, including plans derived from it."""
        derived = plans.PlanLinks(root.path, "derived").derived_from(stored.plan_id) if committed else ()
        commits = (committed[plan_id] for plan_id in (stored.plan_id, *derived) if plan_id in committed)
        at, is_undone = max(commits, default=(-1.0, False))
        if at >= stored.saved_at:
            return ReviewState.UNDONE if is_undone else ReviewState.APPLIED
        if stored.is_discarded:
            return ReviewState.DISCARDED
        return ReviewState.SUPERSEDED if stored.superseded_by is not None else None


class _DecisionState(Struct):
    """Decisions on one plan: its own `standing`, the `decision` in force, and whether it can be applied."""

    standing: DecisionHistory
    decision: Decision | None
    is_approved: bool
    is_rejected: bool

    @classmethod
    def of(cls, root: Root, plan: Plan) -> "_DecisionState":
        store = plans.DecisionStore(root.path)
        standing = store.history(plan.plan_id)
        refusing = rejection_of(root.path, plan, standing)
        is_own = refusing is not None and refusing.plan_id == plan.plan_id
        part = refusing.approved_plan_id if refusing is not None and is_own else None
        return cls(
            standing=standing,
            decision=refusing or standing.decision,
            is_approved=standing.is_approved or (part is not None and store.history(part).is_approved),
            is_rejected=refusing is not None and part is None,
        )


# By plan: when it was committed, in seconds since the epoch, and whether that was undone.
_Commits: TypeAlias = Mapping[str, tuple[float, bool]]
_MOST_NAMED: Final = 2


def _state(
    plan: Plan, decided: _DecisionState, current_files: list[FoundFile] | Problems, done: ReviewState | None
) -> ReviewState:
    """Return the state of `plan`, to which `done` happened; of unreadable `current_files` the problems."""
    if done is not None and done is not ReviewState.SUPERSEDED:
        return done
    if isinstance(current_files, list) and is_applied(plan, current_files):
        return ReviewState.ALREADY_SO
    if decided.is_rejected:
        requests = decided.decision is not None and decided.decision.requests_changes
        return ReviewState.CHANGES_REQUESTED if requests else ReviewState.REJECTED
    if done is not None:
        return done
    if _other_files(plan, current_files):
        return ReviewState.STALE
    return ReviewState.APPROVED if decided.is_approved else ReviewState.PENDING


def _other_files(plan: Plan, current_files: list[FoundFile] | Problems) -> list[str]:
    """Return the files of `plan` that are not what it was made on."""
    if not isinstance(current_files, list):
        return [problem.file or plan.files[0].path for problem in current_files]
    return [
        change.path
        for change, file in zip(plan.files, current_files, strict=True)
        if change.base_sha256 != file.sha256 or file.renamed_sha256 is not None
    ]


def _reason(
    state: ReviewState, stored: plans.StoredPlan, plan: Plan, current_files: list[FoundFile] | Problems
) -> str:
    """Say why a plan is stale or superseded, in a few words; nothing of other states."""
    if state is ReviewState.SUPERSEDED:
        return f"by {(stored.superseded_by or '').removeprefix('sha256-')[:12]}"
    if state is not ReviewState.STALE:
        return ""
    files = _other_files(plan, current_files)
    named = ", ".join(map(visible, files[:_MOST_NAMED]))
    more = len(files) - _MOST_NAMED
    return f"{named}{f' and {more} more' if more > 0 else ''} changed"


def _approval_problem(standing: DecisionHistory, terms: DecisionTerms) -> Problems:
    """Return the obstacles to an approval. Errors: STALE_DECISION, PLAN_REJECTED, CHANGES_REQUESTED."""
    if standing.version != terms.saw:
        return (STALE_DECISION,)
    return (_must_override(standing),) if standing.is_rejected and not terms.overrides else ()


def _must_override(standing: DecisionHistory) -> Diagnostic:
    requests = standing.decision is not None and standing.decision.requests_changes
    return _OVERRIDE_REQUEST if requests else _OVERRIDE


def _of_part(decision: Decision) -> Decision:
    """Return the decision on the accepted part of the plan that `decision` is on."""
    return replace(
        decision,
        plan_id=decision.approved_plan_id or "",
        rejected=(),
        part_of=decision.plan_id,
        places=(),
        classes=(),
        remarks=replace(decision.remarks, line_comments=()),
    )


_SECONDS_OF_A_DAY: Final = 24 * 3600.0

_NO_BASE: Final = Code.NOT_UNDOABLE.problem(
    "the files have the planned text, and the history does not have their old content"
)

_LONG_COMMENT: Final = Diagnostic.invalid(
    f"a comment is longer than {MOST_COMMENT_CHARACTERS} characters", "say it shorter"
)

_NO_COMMENT: Final = Diagnostic.invalid(
    "a request for changes says what to change", "write a comment on the plan, an edit or a line"
)

_OVERRIDE_REQUEST: Final = Code.CHANGES_REQUESTED.problem(
    "changes to the plan were requested: approving it as it is must override that",
    say("tick `Override the rejection` on the review page, or {run review --terminal --override-rejection}"),
)

_OVERRIDE: Final = Code.PLAN_REJECTED.problem(
    "the plan was rejected: approving it must override the rejection",
    say("tick `Override the rejection` on the review page, or {run review --terminal --override-rejection}"),
)


def _lines(text: str) -> list[str]:
    """Return the lines of `text` as the diff counts them: a lone CR does not end a line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


# --- Comments on lines of a plan.

# The lines that a comment quotes, and the characters of them.
_MOST_LINES: Final = 20
_MOST_CHARACTERS: Final = 2_000


def placed_remarks(opened: OpenPlan, remarks: Remarks) -> Remarks:
    """Return `remarks` with the text of the lines that they are on, and the edits that made these.

    Raises `StorageRefused`: INVALID_ARGUMENT for too long or too many comments, a file that is not of the
    plan, or lines that it does not have.
    """
    if remarks.length > MOST_COMMENT_CHARACTERS:
        raise StorageRefused((_LONG_COMMENT,))
    if len(remarks.line_comments) > MOST_LINE_COMMENTS:
        message = f"there are more than {MOST_LINE_COMMENTS} comments on lines"
        raise StorageRefused((Diagnostic.invalid(message, "say less"),))
    return replace(
        remarks, line_comments=tuple(granted(_placed(opened, each)) for each in remarks.line_comments)
    )


def _placed(opened: OpenPlan, comment: LineComment) -> LineComment | Diagnostic:
    index = next(
        (
            file.index
            for file in opened.review.files
            if comment.file in (file.path, file.new_path or file.path)
        ),
        None,
    )
    if index is None:
        return Diagnostic.invalid(f"the plan has no file `{visible(comment.file)}`", "name one of its files")
    bare = replace(comment, file=opened.review.files[index].path, quote="", edit_index=None)
    if not comment.text.strip():
        return Diagnostic.invalid("a comment on lines is empty", "write what to change there")
    if not 1 <= comment.start <= comment.end:
        return _no_lines(comment)
    texts = opened.texts(index)
    if texts is None:
        return bare
    lines = texts[comment.side is Side.AFTER]
    if comment.end > len(lines):
        return _no_lines(comment)
    quote = visible("\n".join(lines[comment.start - 1 : comment.end][:_MOST_LINES]))
    return replace(bare, quote=quote[:_MOST_CHARACTERS], edit_index=_edit_at(opened, index, comment))


def _edit_at(opened: OpenPlan, index: int, comment: LineComment) -> int | None:
    """Return the first edit that changed one of the lines, else an edit of the hunk around them."""
    file = opened.file(index)
    if not isinstance(file, plan_review.FileReview):
        return None
    nearby: int | None = None
    for hunk in file.hunks:
        for line in hunk.lines:
            number = line.new_line if comment.side is Side.AFTER else line.old_line
            if number is None or not comment.start <= number <= comment.end:
                continue
            if line.edits:
                return line.edits[0]
            nearby = nearby if nearby is not None else next(iter(hunk.edits), None)
    return nearby


def _no_lines(comment: LineComment) -> Diagnostic:
    return Diagnostic.invalid(
        f"`{visible(comment.file)}` has no lines {comment.start}-{comment.end} {comment.side} the plan",
        "lines are counted from 1, in the text before or after the plan",
    )


# --- Merges of stale plans that a person decides: the conflicts, and the plan of the choices


class MergedFile(Struct):
    """A file at `path` that both changed, or one, and the `places` of it that need a person."""

    path: str
    places: "tuple[ConflictPlace, ...]"


class OpenMerge(Struct):
    """A merge of `plan` into its files that is not committed yet, whose texts are `sides`."""

    plan: Plan
    current_files: Sequence[FoundFile]
    sides: "Sequence[Sides]"
    files: Sequence[MergedFile] = ()

    @property
    def places(self) -> int:
        """Number of places that need a person."""
        return sum(len(file.places) for file in self.files)

    @property
    def version(self) -> str:
        """The version of the files: it changes with them."""
        hashes = [f"{sides.path} {sides.ours.sha256}" for sides in self.sides]
        return sha256_hex("\n".join(hashes).encode("utf-8", "surrogatepass"))


def open_merge(engine: Engine, plan_id: str) -> OpenMerge:
    """Return what both the plan and others changed since.

    Raises `StorageRefused` with the errors of loading a plan, or STALE_BASE.
    """
    opened = _open_sides(engine.merging, plan_id)
    from mdplan.planning.merging import conflict_places

    files: list[MergedFile] = []
    for sides in opened.sides:
        places = granted(engine.documents.with_timeout(sides.path, partial(conflict_places, sides)))
        files.append(MergedFile(sides.path, places))
    return replace(opened, files=files)


def plan_merge(engine: Engine, plan_id: str, choices: Mapping[str, Sequence[str]], version: str) -> str:
    """Save the plan that merges `plan_id` into its files, with `choices` of a text for each conflict by path.

    Return the ID of the new plan. Raise `StorageRefused`: INVALID_ARGUMENT if `version` is outdated;
    MERGE_CONFLICT if a conflict has no choice; as for planning.
    """
    opened = _open_sides(engine.merging, plan_id)
    if opened.version != version:
        message = "a file has changed again since the conflicts were shown"
        raise StorageRefused((Diagnostic.invalid(message, "look at the conflicts again"),))
    planned = engine.merging.of_plan(opened.plan, opened.current_files, choices)
    engine.library.save(planned, origin=opened.plan)
    return planned.plan.plan_id


def _open_sides(merging: MergeService, plan_id: str) -> OpenMerge:
    plan, _ = granted(merging.library.load(plan_id))
    if plan.undoes is not None:
        hint = say('undo again with {onStale="merge"}')
        raise StorageRefused((Diagnostic.invalid("an undo is not merged here", hint),))
    current_files = granted(merging.documents.read_current(plan))
    return OpenMerge(plan, current_files, merging.sides_of(plan, current_files))
