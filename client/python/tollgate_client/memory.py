"""The memory of what was begun: a table of the caller's, by which a new process finds out what became of the payments of one that was
killed. It holds no card data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Begun:
    """An operation that creates a transaction, as it is known before anything is sent."""

    #: Unique: the key of the table.
    correlation_id: str
    #: `purchase`, `preauthorisation`, `completion`, `refund`, `standalone_refund` or `void`.
    operation: str
    merchant_id: int
    reference: str
    #: A void has none.
    amount_cents: int | None
    currency: str | None
    #: Of a completion, a refund or a void.
    target_audit: int | None
    #: Seconds since 1970, by this machine's clock.
    begun_at: float


@dataclass(frozen=True)
class Ending:
    """How it ended. What is not known has not ended."""

    #: `decided`, `refused` or `not_processed`.
    kind: str
    audit: int | None = None
    outcome: str | None = None
    error_codes: tuple[str, ...] = ()


class Memory(Protocol):
    def begin(self, begun: Begun) -> None:
        """Returns once it is durable: nothing is sent before. One that is there already stays as it is, and is open again."""

    def end(self, correlation_id: str, ending: Ending) -> None: ...

    def open(self) -> Iterable[Begun]:
        """Those that were begun and have not ended."""
        ...
