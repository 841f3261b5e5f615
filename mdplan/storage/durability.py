"""How much a commit survives."""

from enum import StrEnum


class Durability(StrEnum):
    """What a commit survives: the loss of power, or only the death of the process (nothing is synced).

    >>> Settings(durability=Durability.PROCESS).durability.value
    'process'
    """

    FULL = "full"
    PROCESS = "process"
