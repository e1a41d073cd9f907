"""How long something may take, and whether the caller still wants it."""

from __future__ import annotations

import threading
import time

# So soon a request that is waiting for its answer notices that the caller has cancelled it.
NOTICE_SECONDS = 0.1


class Cancelled(Exception):
    """The caller's `cancel` was set. Inside the client only: callers get `OutcomeUnknown` or `Unavailable`."""


class Limit:
    """A moment in the future, by a clock that nobody sets, and the caller's wish to stop before it."""

    def __init__(self, seconds: float, cancel: threading.Event | None = None) -> None:
        self._until = time.monotonic() + seconds
        self._cancel = cancel

    def within(self, seconds: float) -> Limit:
        """The same, but no later than in so many seconds."""
        inner = Limit(0, self._cancel)
        inner._until = min(self._until, time.monotonic() + seconds)
        return inner

    def left(self) -> float:
        """Seconds, or 0 when the time is up."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled
        return max(0.0, self._until - time.monotonic())

    def turn(self) -> float:
        """For how long one may wait before asking again. Raises when the time is up."""
        left = self.left()
        if left == 0:
            raise TimeoutError
        return left if self._cancel is None else min(left, NOTICE_SECONDS)

    def pause(self, seconds: float) -> None:
        """Waits so long, or until the time is up."""
        seconds = max(0.0, min(seconds, self.left()))
        if self._cancel is None:
            time.sleep(seconds)
        elif self._cancel.wait(seconds):
            raise Cancelled
