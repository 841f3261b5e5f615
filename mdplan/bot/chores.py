"""First manifests for common chores, made from answers; `chores.yaml` has their texts."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mdplan.values import Struct


class Chore(Struct, kw_only=True):
    """A chore for a bot: what it is `about`, and a template of its manifest.

    `answers` maps each name in the template to its question and default, which may be empty.
    """

    about: str
    answers: Mapping[str, tuple[str, str]]
    manifest: str

    def written(self, answers: Mapping[str, str]) -> str:
        """Return the manifest with `answers`, which are plain texts."""
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup

        def quoted(value: object) -> str:
            return str(value) if isinstance(value, Markup) else json.dumps(value, ensure_ascii=False)

        environment = Environment(  # noqa: S701 (it writes YAML; answers are quoted)
            variable_start_string="[[",
            variable_end_string="]]",
            block_start_string="[%",
            block_end_string="%]",
            comment_start_string="[#%",
            finalize=quoted,
            undefined=StrictUndefined,
            keep_trailing_newline=True,
        )
        return environment.from_string(self.manifest).render(answers)


@cache
def chores() -> Mapping[str, Chore]:
    """Return the known chores by name."""
    import yaml

    told = yaml.safe_load(Path(__file__).with_name("chores.yaml").read_text(encoding="utf-8"))
    return {name: Chore(**chore) for name, chore in told.items()}
