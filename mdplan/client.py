"""The program that made a plan: a client of a server, a command, or a user of the library."""

from mdplan.values import Struct


class Client(Struct):
    """The program that made a plan, by its own name and version."""

    name: str
    version: str = ""

    @property
    def is_mdplan(self) -> bool:
        """True if it is mdplan itself, which says little about who made the plan."""
        return self.name.startswith("mdplan ")

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()
