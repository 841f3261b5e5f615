"""Who calls an engine: the actor that its transactions name, and who hears of plans that need an approval."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from mdplan import __version__
from mdplan.client import Client
from mdplan.plan import Plan, one_line
from mdplan.storage.fs.root import Root
from mdplan.storage.user.user_state import user_name
from mdplan.text.visible import escaped

# Called with a plan that a person has to approve before it is committed.
OnPending: TypeAlias = Callable[[Plan, Root], None]

_USER: Final = "user "
_CLIENT: Final = "client "
# Longer names are cut: a client chooses its own.
_MOST_NAME: Final = 100


def user_actor() -> str:
    """The user of this process, as transactions name them."""
    return _USER + user_name()


def client_actor(name: str) -> str:
    """A client of a server, by the name that it gives itself."""
    return _CLIENT + _shortened(name)


def _shortened(name: str) -> str:
    return escaped(one_line(name))[:_MOST_NAME]


def ignore_pending(plan: Plan, root: Root) -> None:
    """Do nothing."""
    del plan, root


def library_client() -> Client:
    """The client of plans that a program makes with the library."""
    return Client("mdplan library", __version__)


def shell_client() -> Client:
    """The client of plans that a command makes."""
    return Client("mdplan CLI", __version__)


def mcp_client(name: str, version: str) -> Client:
    """A client of a server, by the name and version that it gives itself."""
    return Client(_shortened(name), _shortened(version))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerIdentity:
    """`actor` names who calls now, and `client` the program that is recorded with the plans that it makes.

    `on_pending` hears of plans that a person has to approve.
    """

    actor: Callable[[], str] = user_actor
    client: Callable[[], Client] = library_client
    on_pending: OnPending = ignore_pending
