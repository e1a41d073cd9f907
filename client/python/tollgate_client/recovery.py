"""The search for a transaction of which only the correlation ID is certain."""

from __future__ import annotations

import time

from .answers import Transaction, Unreadable, read_search, read_transaction
from .connecting import NotSent
from .errors import OrganisationMoved, Problem, Refused
from .gateway import Gateway
from .limit import Cancelled
from .memory import Begun
from .patience import Patience
from .transport import NoAnswer

ORIGINAL_AMOUNT = "GATEWAY.REQUEST.KVP.SURCHARGE.ORIGINAL_AMOUNT"


class _NoWord(Exception):
    """Nobody has answered the question."""


class Search:
    def __init__(self, gateway: Gateway, begun: Begun, patience: Patience) -> None:
        self._gateway = gateway
        self._begun = begun
        self._patience = patience
        # Until then a request that nobody has answered may still be on its way to the gateway.
        self._arrives_until: float | None = None
        self._audit: int | None = None

    def may_arrive_until(self, moment: float) -> None:
        """"There is none" is believed only after that: the search speaks of what the gateway has received."""
        self._arrives_until = moment if self._arrives_until is None else max(self._arrives_until, moment)

    def outcome(self, audit: int | None) -> Transaction | None:
        """Looks until the outcome is known. None: there is no such transaction, and that is certain."""
        self._audit = audit
        while True:
            self.raise_at_the_end()
            asked = time.monotonic()
            try:
                found = self._look()
            except _NoWord:
                self._patience.wait(self._patience.last)
                continue
            if found is None and self._audit is None:
                left = 0.0 if self._arrives_until is None else self._arrives_until - asked
                if left <= 0:
                    return None
                self._patience.wait("not found yet", at_most=left)
            elif found is None:
                # What a look-up does not know, the search decides.
                self._audit = None
                self._patience.wait(self._patience.last)
            elif found.known:
                return found
            else:
                self._audit = found.audit
                self._patience.answered("unknown")
                self._patience.wait("unknown")

    def late_arrival(self) -> Transaction | None:
        """After a refusal: one that was sent before, and not answered, could still have come, or come yet."""
        return None if self._arrives_until is None else self.outcome(None)

    def raise_at_the_end(self) -> None:
        self._patience.raise_unknown(self._audit)

    def _look(self) -> Transaction | None:
        if self._audit is None:
            query = {
                "merchant_id": self._begun.merchant_id,
                "correlation_id_lookup": self._begun.correlation_id,
            }
            operation, target = "search", self._gateway.path("/transactions", query)
        else:
            operation, target = "transaction", self._gateway.path(f"/transactions/{self._audit}")
        try:
            timeout = self._gateway.settings.lookup_timeout_seconds
            reply = self._gateway.ask(operation, "GET", target, self._patience.limit, timeout_seconds=timeout)
            self._patience.answered(reply.in_words())
            if reply.has("transaction_not_found"):
                return None
            if reply.status != 200:
                raise _NoWord
            found = read_search(reply.body) if self._audit is None else read_transaction(reply.body)
        except (NotSent, NoAnswer) as error:
            self._patience.failed(error)
            raise _NoWord from None
        except OrganisationMoved as moved:
            raise OrganisationMoved(self._begun.correlation_id, moved.last, moved.base) from None
        except (Cancelled, Unreadable):
            raise _NoWord from None
        if found is not None and not is_same(self._begun, found):
            raise held_by_another(found, self._begun.correlation_id)
        return found


def is_same(begun: Begun, found: Transaction) -> bool:
    """Whether it is what was asked for, and not another one under an ID that was used twice."""
    details = found.transaction
    if details is None:
        return False
    total = str(details.amount_details.total_amount)
    return (
        found.merchant_id == begun.merchant_id
        and details.reference == begun.reference
        and details.transaction_type.value == begun.operation
        and (begun.target_audit is None or details.target_audit == begun.target_audit)
        # With a surcharge the total is more than what was asked for.
        and (begun.amount_cents is None or str(begun.amount_cents) in (total, found.kvps.get(ORIGINAL_AMOUNT)))
        and (begun.currency is None or details.amount_details.currency == begun.currency)
    )


def held_by_another(found: Transaction, correlation_id: str) -> Refused:
    """Certain for ever: nothing else can have this ID any more."""
    problem = Problem(
        "correlation_id_already_used",
        "Another transaction has this correlation ID: its operation, reference or amount differs.",
        ("header", "X-Correlation-Id"),
    )
    return Refused(409, (problem,), correlation_id, found.audit)
