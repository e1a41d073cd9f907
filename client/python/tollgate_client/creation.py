"""Operations that create a transaction, and what this client does when it does not hear what became of one:

  certainly not processed (503 `not_processed`, 429, 408, no connection)  → the same request again, under the same correlation ID
  409                                                                     → looks up the transaction that holds the ID
  a 5XX, a timeout, a broken connection, an unreadable answer             → looks it up, or searches, until its outcome is known
  the search finds nothing, and the request's own time-out is over        → the same request again, under the same correlation ID

Should an earlier one still arrive it gets 409, and not a second charge. Another 4XX ends it: `Refused`. Time ends it: `OutcomeUnknown`, or `NothingSent`
where there was no connection all the time. A certificate that is not trusted ends it at once.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from .answers import Created, Transaction, Unreadable, as_created, read_transaction
from .connecting import NotSent
from .errors import Cancelled as CancelledByCaller
from .errors import Refused
from .gateway import TRY_AGAIN, Gateway, Reply
from .limit import Cancelled
from .memory import Begun, Ending, Memory
from .observed import Observed
from .orders import Order, check_correlation_id
from .patience import Patience
from .recovery import Search
from .transport import NoAnswer, Payload

#: Is called before anything is sent: the place to store the correlation ID with the order. If it raises, nothing is sent.
BeforeSend = Callable[[Begun], None]


class Creations:
    def __init__(self, gateway: Gateway, memory: Memory | None, before_send: BeforeSend | None) -> None:
        self._gateway = gateway
        self._memory = memory
        self._before_send = before_send
        self._lock = threading.Lock()
        # Not to be recovered by anybody else.
        self._under_way: set[str] = set()

    def is_under_way(self, correlation_id: str) -> bool:
        with self._lock:
            return correlation_id in self._under_way

    def create(
        self,
        order: Order,
        payload: Payload,
        merchant_id: int,
        correlation_id: str | None,
        before_send: BeforeSend | None,
        outcome_timeout_seconds: float | None,
        cancel: threading.Event | None,
    ) -> Created:
        correlation_id = str(uuid.uuid4()) if correlation_id is None else correlation_id
        check_correlation_id(correlation_id)
        begun = order.begun(correlation_id, merchant_id)
        if cancel is not None and cancel.is_set():
            raise CancelledByCaller
        with self._lock:
            if correlation_id in self._under_way:
                raise ValueError("this correlation ID is being used by another call of this client")
            self._under_way.add(correlation_id)
        try:
            if self._memory is not None:
                self._memory.begin(begun)
            for tell in (self._before_send, before_send):
                if tell is not None:
                    tell(begun)
            if cancel is not None and cancel.is_set():
                self.end(begun, Ending("not_processed"))
                raise CancelledByCaller
            limit = self._gateway.settings.outcome_timeout_seconds if outcome_timeout_seconds is None else outcome_timeout_seconds
            patience = Patience(self._gateway, order.operation, correlation_id, cancel, limit)
            created = self._see_through(self._gateway.path(order.path), payload, begun, patience)
            self.end(begun, Ending("decided", created.audit, created.outcome.value))
            return created
        except Refused as refused:
            self.refuse(begun, refused)
            raise
        finally:
            with self._lock:
                self._under_way.discard(correlation_id)

    def refuse(self, begun: Begun, refused: Refused) -> None:
        codes = tuple(problem.error_code for problem in refused.problems)
        self.end(begun, Ending("refused", error_codes=codes))

    def end(self, begun: Begun, ending: Ending) -> None:
        """An outcome is an outcome, whether the memory can store it or not."""
        if self._memory is None:
            return
        try:
            self._memory.end(begun.correlation_id, ending)
        except Exception:
            self._gateway.tell(Observed("memory_failed", begun.operation, begun.correlation_id))

    def _see_through(self, path: str, payload: Payload, begun: Begun, patience: Patience) -> Created:
        search = Search(self._gateway, begun, patience)
        timeout = self._gateway.settings.request_timeout_seconds
        refused: Refused | None = None
        doubt = False
        sent = False
        while True:
            sent_at = time.monotonic()
            reply = self._send(path, payload, begun, patience, timeout)
            if isinstance(reply, NotSent) and not sent:
                patience.raise_untrusted(reply)
            sent = sent or not isinstance(reply, NotSent)
            created = _created_in(reply)
            if created is not None and created.known:
                return as_created(created, begun.correlation_id, recovered=False)
            if isinstance(reply, NotSent) or isinstance(reply, Reply) and reply.not_processed:
                is_refusal = isinstance(reply, Reply) and reply.status in TRY_AGAIN
                refused = reply.refusal() if isinstance(reply, Reply) and is_refusal else None
                patience.wait(patience.last, at_least=reply.retry_after_seconds if isinstance(reply, Reply) else 0)
                if refused is not None and not doubt and patience.end == "time_is_up":
                    # The gateway's last word: it takes no more from this user.
                    raise refused
                if not sent:
                    patience.raise_nothing_sent()
                search.raise_at_the_end()
                continue
            if isinstance(reply, Reply) and 400 <= reply.status < 500 and reply.status != 409:
                found = search.late_arrival()
                if found is None:
                    raise reply.refusal()
                return as_created(found, begun.correlation_id, recovered=True)
            doubt = True
            if not isinstance(reply, Reply):
                # Answered by the gateway itself, it would not be on its way any more.
                search.may_arrive_until(sent_at + timeout)
            named = reply.audit if isinstance(reply, Reply) else None
            found = search.outcome(named if created is None else created.audit)
            if found is not None:
                return as_created(found, begun.correlation_id, recovered=True)
            patience.wait("not processed")
            search.raise_at_the_end()

    def _send(
        self, path: str, payload: Payload, begun: Begun, patience: Patience, timeout: float
    ) -> Reply | NotSent | NoAnswer:
        try:
            reply = self._gateway.ask(
                begun.operation,
                "POST",
                path,
                patience.limit,
                timeout_seconds=timeout,
                body=payload,
                correlation_id=begun.correlation_id,
            )
        except (NotSent, NoAnswer) as error:
            patience.failed(error)
            return error
        except Cancelled:
            cancelled = NoAnswer("cancelled")
            patience.failed(cancelled)
            return cancelled
        patience.answered(reply.in_words())
        return reply


def _created_in(reply: Reply | NotSent | NoAnswer) -> Transaction | None:
    if not isinstance(reply, Reply) or reply.status >= 300:
        return None
    try:
        return read_transaction(reply.body)
    except Unreadable:
        return None
