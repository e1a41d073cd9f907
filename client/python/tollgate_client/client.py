"""The client: what a merchant's backend can do at a gateway. Threads may share one."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from .answers import Event, Transaction, read_event, read_search, read_transaction
from .asking import Asking
from .checkouts import Checkouts
from .creation import BeforeSend
from .errors import Cancelled, OutcomeUnknown, Refused, Unavailable
from .gateway import Gateway
from .memory import Begun, Ending, Memory
from .observed import Observe
from .orders import check_correlation_id
from .pages import Page, Pages, read_page
from .patience import Patience
from .payments import Payments
from .recovery import Search
from .schedules import Schedules
from .settings import Settings
from .settlement import Settlement, read_settlement
from .transport import Transport
from .vault import Customers, Tokens
from .webhooks import verify_webhook


@dataclass(frozen=True)
class Recovered:
    """What became of an operation that an earlier process had begun."""

    #: `decided`, or `not_processed`. Should the latter be tried again: **with the same correlation ID**, so that it cannot happen twice.
    kind: str
    begun: Begun
    transaction: Transaction | None = None


class Tollgate(Payments):
    """
    `merchant_id` is for every call that names none. `request_timeout_seconds` is for a request that creates or changes something, and
    must be longer than the gateway gives the acquirer (10 s, unless its operator has changed it); `lookup_timeout_seconds` for a
    look-up, a search or a list; `outcome_timeout_seconds` for everything together, until the outcome is known. `searchable_seconds` is for
    how long the gateway finds a payment by its correlation ID, at least. `memory` remembers what was begun for a process that is killed.
    `before_send` is called before each creating operation sends anything. `observe` is told of every request, answer and pause. `tls` has
    certificates of one's own. `allow_plain_http`: card numbers go over http without TLS only to this machine, unless the network is safe.
    """

    def __init__(
        self,
        base_url: str,
        username: str,
        password: str,
        *,
        merchant_id: int | None = None,
        request_timeout_seconds: float = 15.0,
        lookup_timeout_seconds: float = 10.0,
        outcome_timeout_seconds: float = 120.0,
        first_pause_seconds: float = 0.2,
        longest_pause_seconds: float = 5.0,
        searchable_seconds: float = 23 * 3600.0,
        memory: Memory | None = None,
        before_send: BeforeSend | None = None,
        observe: Observe | None = None,
        tls: ssl.SSLContext | None = None,
        allow_plain_http: bool = False,
    ) -> None:
        self._transport = Transport(base_url, username, password, tls, allow_plain_http)
        settings = Settings(
            request_timeout_seconds,
            lookup_timeout_seconds,
            outcome_timeout_seconds,
            first_pause_seconds,
            longest_pause_seconds,
            searchable_seconds,
            merchant_id,
        )
        self._gateway = Gateway(self._transport, settings, observe)
        super().__init__(self._gateway, memory, before_send)
        self._memory = memory
        self._asking = Asking(self._gateway)
        self._made_at = time.monotonic()
        self.checkouts = Checkouts(self._asking, merchant_id)
        self.schedules = Schedules(self._asking, merchant_id)
        self.customers = Customers(self._asking, merchant_id)
        self.tokens = Tokens(self._asking, merchant_id)

    def __repr__(self) -> str:
        return f"<Tollgate {self._transport.base_url}>"

    def __enter__(self) -> Tollgate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections that nobody uses. Another call opens new ones."""
        self._transport.close()

    def transaction(
        self,
        audit: int,
        *,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Transaction:
        """As it is now. Raises `Refused` with `transaction_not_found` where there is none."""
        return self._asking.ask(
            "transaction",
            f"/transactions/{audit:d}",
            read_transaction,
            outcome_timeout_seconds=outcome_timeout_seconds,
            cancel=cancel,
        )

    def search(
        self,
        correlation_id: str,
        *,
        merchant_id: int | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Transaction | None:
        """None: the gateway has not processed it, and none of the requests that it has received so far will be. One that is still on its
        way could: wait for its time-out first. (`purchase` and the others do all of this by themselves.)"""
        check_correlation_id(correlation_id)
        return self._asking.ask(
            "search",
            "/transactions",
            read_search,
            query={"merchant_id": self._merchant(merchant_id), "correlation_id_lookup": correlation_id},
            outcome_timeout_seconds=outcome_timeout_seconds,
            cancel=cancel,
        )

    def history(
        self,
        *,
        merchant_id: int | None = None,
        from_: str | None = None,
        until: str | None = None,
        status: str | None = None,
        transaction_type: str | None = None,
        payment_method: str | None = None,
        card_type: str | None = None,
        last_four: str | None = None,
        reference: str | None = None,
        amount_cents: int | None = None,
        settlement_date: str | None = None,
        customer_id: int | None = None,
        token_id: int | None = None,
        target_audit: int | None = None,
        limit: int | None = None,
        after: str | None = None,
        cancel: threading.Event | None = None,
    ) -> Pages[Transaction]:
        """The newest first, of those that fit every filter. `limit` is the size of a page, and not of the whole."""
        query = {
            "merchant_id": self._merchant_id if merchant_id is None else merchant_id,
            "from": from_,
            "until": until,
            "status": status,
            "transaction_type": transaction_type,
            "payment_method": payment_method,
            "card_type": card_type,
            "last_four": last_four,
            "reference": reference,
            "amount": amount_cents,
            "settlement_date": settlement_date,
            "customer_id": customer_id,
            "token_id": token_id,
            "target_audit": target_audit,
            "limit": limit,
        }

        def fetch(onwards: str | None) -> Page[Transaction]:
            asked = {**query, "after": onwards or after}
            read = read_page(read_transaction)
            return self._asking.ask("history", "/transactions/history", read, query=asked, cancel=cancel)

        return Pages(fetch)

    def events(
        self,
        *,
        merchant_id: int | None = None,
        after: str | None = None,
        limit: int | None = None,
        wait: int = 20,
        cancel: threading.Event | None = None,
    ) -> Pages[Event]:
        """The oldest first, and then each as it happens, without end: `cancel` ends it. With `wait=0` it ends when there are no more for
        now. Go by `pages()`, and store `next` with what you made of its events: then none is missed, and none comes twice."""
        merchant_id = self._merchant_id if merchant_id is None else merchant_id
        query = {"merchant_id": merchant_id, "limit": limit, "wait": wait}

        def fetch(onwards: str | None) -> Page[Event] | None:
            asked = {**query, "after": onwards or after}
            try:
                page = self._asking.ask(
                    "events", "/events", read_page(read_event), query=asked, held_seconds=wait, cancel=cancel
                )
            except (Cancelled, Unavailable):
                if cancel is not None and cancel.is_set():
                    return None
                raise
            return Page((), None) if wait == 0 and not page.results else page

        return Pages(fetch)

    def settlement(
        self, date: str, *, merchant_id: int | None = None, cancel: threading.Event | None = None
    ) -> Settlement:
        """What a day comes to: `2026-11-16`. It does not change any more once it is `closed`."""
        query = {"merchant_id": self._merchant_id if merchant_id is None else merchant_id}
        path = f"/settlements/{quote(date, safe='')}"
        return self._asking.ask("settlement", path, read_settlement, query=query, cancel=cancel)

    #: The event in a webhook, if it is to be believed; otherwise raises `WebhookRejected`.
    verify_webhook = staticmethod(verify_webhook)

    def recover(
        self,
        begun: Begun,
        *,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Recovered:
        """What became of an operation of a process that has ended since; of one that may still be running it is not to be asked. Nothing is
        sent again: without the card it could not be. Raises `OutcomeUnknown` when its time is up, and `Refused` where another operation's
        transaction has its correlation ID."""
        settings = self._gateway.settings
        limit = settings.outcome_timeout_seconds if outcome_timeout_seconds is None else outcome_timeout_seconds
        patience = Patience(self._gateway, begun.operation, begun.correlation_id, cancel, limit)
        search = Search(self._gateway, begun, patience)
        # Whatever that process has sent, it sent before this client was made.
        search.may_arrive_until(self._made_at + settings.request_timeout_seconds)
        try:
            found = search.outcome(None)
        except Refused as refused:
            # Another operation's transaction has its ID, so that this one was refused.
            self._creations.refuse(begun, refused)
            raise
        if found is not None:
            self._creations.end(begun, Ending("decided", found.audit, found.outcome.value))
            return Recovered("decided", begun, found)
        if not time.time() - begun.begun_at < settings.searchable_seconds:
            raise OutcomeUnknown(begun.correlation_id, "too_old", "not found")
        self._creations.end(begun, Ending("not_processed"))
        return Recovered("not_processed", begun)

    def recover_all(
        self, *, outcome_timeout_seconds: float | None = None, cancel: threading.Event | None = None
    ) -> Iterator[Recovered | OutcomeUnknown | Refused]:
        """Everything that the memory has open, but for what this client has under way itself."""
        for begun in list(self._memory.open()) if self._memory is not None else ():
            if self._creations.is_under_way(begun.correlation_id):
                continue
            try:
                yield self.recover(begun, outcome_timeout_seconds=outcome_timeout_seconds, cancel=cancel)
            except (OutcomeUnknown, Refused) as error:
                yield error
