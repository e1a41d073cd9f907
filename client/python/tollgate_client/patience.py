"""How long a call goes on: pauses that grow, an end to all of them, and a caller who may cancel."""

from __future__ import annotations

import random
import threading

from .connecting import NOT_TRUSTED, NotSent
from .errors import NothingSent, OutcomeUnknown
from .gateway import Gateway
from .limit import Cancelled, Limit
from .observed import Observed
from .transport import NoAnswer


class Patience:
    def __init__(
        self,
        gateway: Gateway,
        operation: str,
        correlation_id: str,
        cancel: threading.Event | None,
        limit_seconds: float,
    ) -> None:
        self._gateway = gateway
        self._operation = operation
        self._correlation_id = correlation_id
        self._next_seconds = gateway.settings.first_pause_seconds
        self.limit = Limit(limit_seconds, cancel)
        #: What the last request came to, and why it was not answered.
        self.last = "nothing was sent"
        self.cause: BaseException | None = None

    def answered(self, in_words: str) -> None:
        self.last, self.cause = in_words, None

    def failed(self, error: NotSent | NoAnswer) -> None:
        self.last = error.reason
        # Without its way here, which has the request in its variables.
        self.cause = (error.__cause__ or error).with_traceback(None)

    def raise_unknown(self, audit: int | None = None) -> None:
        """When the time is up, or the caller has cancelled."""
        if self.end is not None:
            raise OutcomeUnknown(self._correlation_id, self.end, self.last, audit) from self.cause

    def raise_nothing_sent(self) -> None:
        """The same for a call that has sent nothing."""
        if self.end is not None:
            raise NothingSent(self._correlation_id, self.end, self.last) from self.cause

    def raise_untrusted(self, error: NotSent) -> None:
        """For a call that has sent nothing: a certificate is not trusted any sooner for being looked at again."""
        if error.not_trusted:
            raise NothingSent(self._correlation_id, NOT_TRUSTED, self.last) from self.cause

    @property
    def end(self) -> str | None:
        try:
            return None if self.limit.left() > 0 else "time_is_up"
        except Cancelled:
            return "cancelled"

    def wait(self, because: str, *, at_least: float = 0.0, at_most: float = float("inf")) -> None:
        """Each pause is twice the one before; chance shortens it, so that many clients do not come back at once."""
        grown = self._next_seconds * random.uniform(0.5, 1)
        self._next_seconds = min(self._next_seconds * 2, self._gateway.settings.longest_pause_seconds)
        seconds = min(max(grown, at_least), at_most)
        pause = round(seconds, 3)
        self._gateway.tell(
            Observed("pause", self._operation, self._correlation_id, because=because, pause_seconds=pause)
        )
        try:
            self.limit.pause(seconds)
        except Cancelled:
            # Whoever waits asks for `end`.
            pass
