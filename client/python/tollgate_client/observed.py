"""What a client tells about its work: enough for a log and a trace, and nothing of a card, a body or a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Observed:
    #: `request`, `answer`, `no_answer`; `pause` before the next try; `memory_failed`: the memory could not store an outcome, which stands,
    #: and `recover_all` will come upon it again.
    kind: str
    #: For example `purchase` or `search`.
    operation: str
    correlation_id: str
    method: str | None = None
    #: Without its query.
    path: str | None = None
    status: int | None = None
    error_codes: tuple[str, ...] = ()
    duration_seconds: float | None = None
    #: Of `no_answer`: `timeout`, `cancelled`, `not_connected` or `broken`.
    reason: str | None = None
    because: str | None = None
    pause_seconds: float | None = None


Observe = Callable[[Observed], None]
