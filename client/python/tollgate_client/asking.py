"""Look-ups, lists, and changes that may be sent again: asked again and again until somebody answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import uuid4

from .answers import Json, Unreadable
from .connecting import NotSent
from .errors import Cancelled, Refused, Unavailable
from .gateway import TRY_AGAIN, Gateway
from .limit import Cancelled as CancelledMeanwhile
from .patience import Patience
from .transport import NoAnswer, Payload

Body = TypeVar("Body")
Read = Callable[[Json], Body]


class Asking:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def ask(
        self,
        operation: str,
        path: str,
        read: Read[Body],
        *,
        query: Mapping[str, object] | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
        held_seconds: float | None = None,
    ) -> Body:
        """`held_seconds` is for how long the gateway is asked to hold its answer back; such a question has no end but `cancel`."""
        timeout = self._gateway.settings.lookup_timeout_seconds + (held_seconds or 0)
        limit = float("inf") if held_seconds else outcome_timeout_seconds
        return self._until_answered(
            operation, "GET", self._gateway.path(path, query), read, None, None, timeout, limit, cancel
        )

    def make_once(
        self,
        operation: str,
        path: str,
        read: Read[Body],
        *,
        body: Payload,
        find: Callable[[], Body | None],
        correlation_id: str,
        cancel: threading.Event | None = None,
    ) -> Body:
        """What a correlation ID makes once. Where it has made one already, that one: `find` looks for it."""

        def made_before(refused: Refused) -> Body | None:
            return find() if refused.has("correlation_id_already_used") else None

        return self.change(
            operation,
            "POST",
            path,
            read,
            body=body,
            settled=made_before,
            correlation_id=correlation_id,
            adopts=True,
            cancel=cancel,
        )

    def change(
        self,
        operation: str,
        method: str,
        path: str,
        read: Read[Body],
        *,
        query: Mapping[str, object] | None = None,
        body: Payload | None = None,
        settled: Callable[[Refused], Body | None] | None = None,
        correlation_id: str | None = None,
        adopts: bool = False,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Body:
        """To do it twice is to do it once. `settled` says what a refusal means after a try of which nobody knows what became: the
        result, or None where it is a refusal. With `adopts` it is asked after every try: the result may have been there before."""
        timeout = self._gateway.settings.request_timeout_seconds
        target = self._gateway.path(path, query)
        limit = outcome_timeout_seconds
        return self._until_answered(
            operation, method, target, read, body, settled, timeout, limit, cancel, correlation_id, adopts
        )

    def _until_answered(
        self,
        operation: str,
        method: str,
        target: str,
        read: Read[Body],
        body: Payload | None,
        settled: Callable[[Refused], Body | None] | None,
        timeout: float,
        limit: float | None,
        cancel: threading.Event | None,
        chosen_id: str | None = None,
        adopts: bool = False,
    ) -> Body:
        if cancel is not None and cancel.is_set():
            raise Cancelled
        settings = self._gateway.settings
        correlation_id = chosen_id or str(uuid4())
        limit = settings.outcome_timeout_seconds if limit is None else limit
        patience = Patience(self._gateway, operation, correlation_id, cancel, limit)
        doubt = sent = False
        while True:
            retry_after = 0.0
            failure: NotSent | None = None
            try:
                reply = self._gateway.ask(
                    operation,
                    method,
                    target,
                    patience.limit,
                    timeout_seconds=timeout,
                    body=body,
                    correlation_id=correlation_id,
                )
                sent, retry_after = True, reply.retry_after_seconds
                patience.answered(reply.in_words())
                if reply.status < 300:
                    return read(reply.body)
                if reply.status < 500 and reply.status not in TRY_AGAIN:
                    refused = reply.refusal()
                    meant = settled(refused) if (doubt or adopts) and settled is not None else None
                    if meant is None:
                        raise refused
                    return meant
                doubt = doubt or not reply.not_processed
            except NotSent as error:
                patience.failed(error)
                failure = error
            except NoAnswer as error:
                patience.failed(error)
                doubt = sent = True
            except (CancelledMeanwhile, Unreadable):
                doubt = sent = True
            if failure is not None and not sent and limit < float("inf"):
                if failure.not_trusted and method == "GET":
                    raise Unavailable(patience.last) from patience.cause
                patience.raise_untrusted(failure)
            patience.wait(patience.last, at_least=retry_after)
            if patience.end is None:
                continue
            if method == "GET":
                raise Unavailable(patience.last) from patience.cause
            if not sent:
                patience.raise_nothing_sent()
            patience.raise_unknown()
