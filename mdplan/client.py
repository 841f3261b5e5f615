"""The program that made a plan: a client of a server, a command, or a program with the library."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """The program that made a plan, by the name and version that it gives itself."""

    name: str
    version: str = ""

    @property
    def is_mdplan(self) -> bool:
        """Return True if it is a part of mdplan, and so says little about who made the plan."""
        return self.name.startswith("mdplan ")

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()


def user_name() -> str:
    """The name of the user of this process, by its ID and not by what the environment says."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
