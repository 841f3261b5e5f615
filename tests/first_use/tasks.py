"""The tasks of `docs/contributing/first-use.md`: their calls, made as the page shows them, and counted."""

import difflib
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mdplan
from tests.conftest import REPOSITORY
from tests.support.golden_cases import Tree, read_tree
from tests.surfaces.command_line import mdplan as run_mdplan
from tests.surfaces.dialog import Dialog
from tests.surfaces.mcp_calls import Calls, calls_to, process

PAGE = REPOSITORY / "docs" / "contributing" / "first-use.md"
_TASK = re.compile(r"^## (?P<name>[^\n]+)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(?P<info>\S[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_PLAN = re.compile(r"^To apply: mdplan apply (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block of the page: the words of its info string, and its text."""

    info: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Task:
    """One task: its name, how many calls its first line promises, and its blocks in order."""

    name: str
    calls: int
    blocks: tuple[Block, ...]

    @property
    def answers(self) -> list[tuple[str, str]]:
        """What a person types, each behind the prompt for it."""
        lines = "".join(block.text for block in self.blocks if block.info == ("text", "answers"))
        return [
            (prompt, answer)
            for prompt, _, answer in (line.partition(": ") for line in lines.split("\n")[:-1])
        ]


def read_tasks() -> list[Task]:
    text = PAGE.read_text(encoding="utf-8")
    return [
        Task(
            match["name"],
            int(re.findall(r"(\d+) calls?\b", match["text"])[0]),
            tuple(
                Block(tuple(each["info"].split()), each["text"]) for each in _BLOCK.finditer(match["text"])
            ),
        )
        for match in _TASK.finditer(text)
    ]


@dataclass
class Attempt:
    """A task as it is done in `folder`, which is the current one."""

    task: Task
    folder: Path
    calls: int = 0
    shown: list[str] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)

    def run(self) -> list[str]:
        """Make all calls; what each block that shows an outcome should show, in their order."""
        before = read_tree(self.folder)
        with ExitStack() as stack:
            server: Calls | None = None
            for block in self.task.blocks:
                match block.info:
                    case ["json", tool] if tool.startswith("md_"):
                        server = server or stack.enter_context(
                            calls_to(process("--root", str(self.folder)), "auto")
                        )
                        self._ask(server, tool, block.text)
                    case ["json" | "yaml", file]:
                        (self.folder / file).write_text(block.text, encoding="utf-8")
                    case ["sh", "before"]:
                        self._type(block.text)
                        self.calls, before = 0, {**before, **self._documents()}
                    case ["sh"]:
                        self._type(block.text)
                    case ["python"]:
                        self._execute(block.text)
                    case ["text"]:
                        self.shown.append(self.last["answer"])
                    case ["diff"]:
                        self.shown.append("".join(difference(before, self._documents())))
                    case ["text", "answers"]:
                        pass
                    case other:
                        raise AssertionError(f"a block of another kind: {other}")
        return self.shown

    def _documents(self) -> Tree:
        """The documents, without the batches and manifests of the task."""
        return {name: data for name, data in read_tree(self.folder).items() if name.endswith(".md")}

    def _type(self, script: str) -> None:
        for line in script.split("\n")[:-1]:
            self.calls += 1
            words = [
                self.last.get("planId", word) if word == "PLAN" else word for word in shlex.split(line)[1:]
            ]
            if "--terminal" in words:
                self._answer(Dialog(*words))
                continue
            run = run_mdplan(*words)
            assert run.code == 0, run.err
            self.last |= {"planId": found[1]} if (found := _PLAN.search(run.err)) else {}

    def _answer(self, dialog: Dialog) -> None:
        for prompt, answer in self.task.answers:
            dialog.expect(prompt)
            dialog.type(answer)
        assert dialog.end() == 0, dialog.seen

    def _ask(self, server: Calls, tool: str, text: str) -> None:
        self.calls += 1
        arguments: dict[str, Any] = json.loads(text)
        for name, word in (("planId", "PLAN"), ("baseSha256", "BASE")):
            if arguments.get(name) == word:
                arguments[name] = self.last[name]
        answer = server.call(tool, arguments)
        # A name that no line can hold stands for the text of the answer.
        self.last = {"answer": answer.text if answer.text.endswith("\n") else f"{answer.text}\n"}
        for name in ("planId", "baseSha256"):
            if answer.data and name in answer.data:
                self.last[name] = answer.data[name]

    def _execute(self, program: str) -> None:
        """Run `program`, with every verb of the engine counted."""
        verbs = ("stat", "read", "search", "plan", "apply", "undo")

        def count(frame: Any, event: str, argument: object) -> None:
            name = frame.f_code.co_name
            is_verb = (
                event == "call" and name in verbs and isinstance(frame.f_locals.get("self"), mdplan.Engine)
            )
            self.calls += (
                is_verb and frame.f_back is not None and frame.f_back.f_code.co_filename == PAGE.name
            )

        sys.setprofile(count)
        try:
            exec(compile(program, PAGE.name, "exec"), {})
        finally:
            sys.setprofile(None)


def difference(before: Tree, after: Tree) -> Iterator[str]:
    """What changed in the documents, with every byte of the changed lines to be seen."""
    for name in sorted(before | after):
        if not name.endswith(".md"):
            continue
        old, new = (_lines(tree.get(name)) for tree in (before, after))
        origin = f"a/{name}" if name in before else "nothing"
        yield from difflib.unified_diff(old, new, origin, f"b/{name}", n=0)


def _lines(data: bytes | None) -> list[str]:
    """Lines with their ends to be seen, where those are not LF."""
    if data is None:
        return []
    lines = data.decode("utf-8").replace("\r\n", "␍\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([f"{lines[-1]} (no line end)\n"] if lines[-1] else [])
