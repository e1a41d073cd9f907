"""What is raised. No message and no member ever holds a card number, a CVV or the password, whatever the other side has answered."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONG_DIGITS = re.compile(r"[0-9](?:[ .,_:+-]?[0-9]){11,18}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def without_card_numbers(text: str) -> str:
    """What was answered may come from a proxy that repeats what was sent. A UUID is no card number, whatever its digits."""
    if _UUID.fullmatch(text):
        return text
    return _LONG_DIGITS.sub("************", text)


class TollgateError(Exception):
    """What this client raises on purpose is one of these, but for `ValueError`: a call that cannot be right."""


@dataclass(frozen=True)
class Problem:
    """One reason why the gateway refused. Decide by `error_code`; `error_message` is for people and may change."""

    error_code: str
    error_message: str
    location: tuple[str, ...]


class Refused(TollgateError):
    """The gateway has refused the request (4XX): it was not processed, and will not be."""

    def __init__(
        self, status: int, problems: tuple[Problem, ...], correlation_id: str, holder: int | None = None
    ) -> None:
        reasons = [" ".join((problem.error_code, *problem.location)) for problem in problems]
        super().__init__(f"refused with {status}: {'; '.join(reasons)}")
        self.status = status
        #: Every reason, not only the first.
        self.problems = problems
        self.correlation_id = correlation_id
        #: With 409: the transaction that holds the correlation ID.
        self.holder = holder

    @property
    def code(self) -> str:
        """The first problem's."""
        return self.problems[0].error_code if self.problems else ""

    def has(self, error_code: str) -> bool:
        return any(problem.error_code == error_code for problem in self.problems)


class OutcomeUnknown(TollgateError):
    """Nobody knows yet what became of it: it may have been processed, or may still be. It did not fail. Keep the correlation ID, and find
    out with `recover`, or call the same operation again **with the same correlation ID**: it cannot happen twice."""

    def __init__(self, correlation_id: str, reason: str, last: str, audit: int | None = None) -> None:
        super().__init__(self._says(without_card_numbers(correlation_id), f"({reason}; last: {last})"))
        self.correlation_id = correlation_id
        #: `time_is_up`, `cancelled`, `too_old`, `not_trusted` or `moved`.
        self.reason = reason
        #: What the last request came to, such as `timeout` or `503 unavailable`.
        self.last = last
        #: Where the gateway has said it.
        self.audit = audit

    @staticmethod
    def _says(correlation_id: str, why: str) -> str:
        return f"the outcome of {correlation_id} is not known {why}"


class NothingSent(OutcomeUnknown):
    """This call has sent nothing: there was no connection, or the certificate of the gateway is not trusted (`__cause__` says which). If its
    correlation ID was new, nothing has happened. An earlier call with the same ID may have sent something, so that this is an
    `OutcomeUnknown` too, and is handled like one: call again **with the same correlation ID**."""

    @staticmethod
    def _says(correlation_id: str, why: str) -> str:
        return f"nothing was sent for {correlation_id} {why}"


class OrganisationMoved(OutcomeUnknown):
    """The organisation is served at another address (421): nothing was processed here. What was sent before, under the same correlation
    ID, may have been, so that this is an `OutcomeUnknown` too. This client does not follow: a card goes to the address that was given, and
    to none that an answer names. Ask the operator of the gateway whether `base` is right, make a client with it, and call again **with the
    same correlation ID**."""

    def __init__(self, correlation_id: str, last: str, base: str | None) -> None:
        self._at = "" if base is None else f": {base}"
        super().__init__(correlation_id, "moved", last)
        #: Such as `https://acme.pay.example/`; None where the gateway does not know it.
        self.base = base

    def __str__(self) -> str:
        correlation_id = without_card_numbers(self.correlation_id)
        return f"the organisation is served at another address{self._at} ({correlation_id}; last: {self.last})"


class Cancelled(TollgateError):
    """The caller has cancelled before anything was sent: nothing happened."""

    def __init__(self) -> None:
        super().__init__("cancelled before anything was sent")


class Unavailable(TollgateError):
    """A look-up, a search or a list was not answered in time. This says nothing about any payment."""

    def __init__(self, last: str) -> None:
        super().__init__(f"the gateway did not answer (last: {last})")
        self.last = last


class WebhookRejected(TollgateError):
    """A webhook that is not to be believed. Answer it with 400, and do nothing else."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"webhook rejected: {reason}")
        #: `header_missing`, `too_old`, `too_new`, `wrong_signature` or `not_an_event`.
        self.reason = reason
