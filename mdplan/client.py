"""The program that made a plan: a client of a server, a command, or a program with the library."""

from mdplan.values import Struct


class Client(Struct):
    """The program that made a plan, by the name and version that it gives itself."""

    name: str
    version: str = ""

    @property
    def is_mdplan(self) -> bool:
        """Return True if it is a part of mdplan, and so says little about who made the plan."""
        return self.name.startswith("mdplan ")

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()
