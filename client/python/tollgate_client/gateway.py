"""One request to the gateway, and what its answer says. What to do about it is up to whoever asks."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from .answers import Json, Unreadable, read_links
from .connecting import NotSent
from .errors import OrganisationMoved, Problem, Refused, without_card_numbers
from .limit import Cancelled, Limit
from .observed import Observe, Observed
from .settings import Settings
from .transport import Answer, NoAnswer, Payload, Transport

LONGEST_RETRY_AFTER_SECONDS = 60.0
# Certainly not processed, and worth another try: one that did not arrive whole in time, and too many requests.
TRY_AGAIN = (408, 429)
_AUDIT = re.compile("[1-9][0-9]{0,9}")
_BASE = re.compile(r"https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?/?")


@dataclass(frozen=True)
class Reply:
    """What the gateway has said about this request, and not a proxy, nor in answer to another one."""

    status: int
    body: Json
    problems: tuple[Problem, ...]
    #: Of the transaction that the answer names.
    audit: int | None
    retry_after_seconds: float
    correlation_id: str

    @property
    def not_processed(self) -> bool:
        """Certainly, and worth another try."""
        return self.status in TRY_AGAIN or (self.status == 503 and self.has("not_processed"))

    @property
    def error_codes(self) -> tuple[str, ...]:
        return tuple(problem.error_code for problem in self.problems)

    def has(self, error_code: str) -> bool:
        return error_code in self.error_codes

    def in_words(self) -> str:
        return " ".join([str(self.status), *self.error_codes])

    def refusal(self) -> Refused:
        holder = self.audit if self.status == 409 else None
        return Refused(self.status, self.problems, self.correlation_id, holder)


class Gateway:
    def __init__(self, transport: Transport, settings: Settings, observe: Observe | None) -> None:
        self._transport = transport
        self.settings = settings
        self._observe = observe

    def tell(self, observed: Observed) -> None:
        """No observer can change what happens."""
        if self._observe is None:
            return
        try:
            self._observe(observed)
        except Exception:
            pass

    def path(self, path: str, query: Mapping[str, object] | None = None) -> str:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._transport.base_path + path + ("?" + urlencode(given) if given else "")

    def ask(
        self,
        operation: str,
        method: str,
        target: str,
        limit: Limit,
        *,
        timeout_seconds: float,
        body: Payload | None = None,
        correlation_id: str | None = None,
    ) -> Reply:
        """Raises `NotSent`, `NoAnswer` or `Cancelled` where there is no word of the gateway, and `OrganisationMoved`."""
        correlation_id = correlation_id or str(uuid.uuid4())
        about = Observed("request", operation, correlation_id, method, target.partition("?")[0])
        self.tell(about)
        began = time.monotonic()

        def ended(kind: str, **details: Any) -> None:
            self.tell(replace(about, kind=kind, duration_seconds=round(time.monotonic() - began, 3), **details))

        headers = {"X-Correlation-Id": correlation_id}
        try:
            answer = self._transport.exchange(method, target, headers, body, limit.within(timeout_seconds))
        except (NotSent, NoAnswer) as error:
            ended("no_answer", reason=error.reason)
            raise
        except Cancelled:
            ended("no_answer", reason="cancelled")
            raise
        try:
            reply = _read_reply(answer, correlation_id)
        except NoAnswer:
            ended("answer", status=answer.status)
            raise
        ended("answer", status=reply.status, error_codes=reply.error_codes)
        if reply.has("organisation_moved"):
            # Whatever was asked, and however often: this address does not know any more.
            raise OrganisationMoved(correlation_id, reply.in_words(), _base_named(reply.body))
        return reply


def payload_of(body: object) -> Payload:
    return Payload(json.dumps(body, separators=(",", ":")).encode())


def _read_reply(answer: Answer, correlation_id: str) -> Reply:
    returned = answer.headers.get("x-correlation-id")
    if returned is not None and returned != correlation_id:
        raise NoAnswer(f"{answer.status} to another request")
    try:
        body: Any = json.loads(answer.body) if answer.body else {}
    except (ValueError, RecursionError):
        body = None
    problems = _problems(body) if answer.status >= 400 else ()
    is_ours = isinstance(body, dict) and (200 <= answer.status < 300 or answer.status >= 400 and problems)
    if not is_ours:
        raise NoAnswer(f"{answer.status} of somebody else")
    return Reply(
        answer.status,
        body,
        problems,
        _audit_named(body, answer.headers.get("location")),
        _seconds(answer.headers.get("retry-after")),
        correlation_id,
    )


def _problems(body: object) -> tuple[Problem, ...]:
    errors = body.get("errors") if isinstance(body, dict) else None
    if not isinstance(errors, list) or not all(_is_problem(error) for error in errors):
        return ()
    return tuple(
        Problem(
            without_card_numbers(error["error_code"]),
            without_card_numbers(str(error.get("error_message", ""))),
            tuple(without_card_numbers(str(part)) for part in error["location"]),
        )
        for error in errors
    )


def _is_problem(error: object) -> bool:
    if not isinstance(error, dict):
        return False
    return isinstance(error.get("error_code"), str) and isinstance(error.get("location"), list)


def _audit_named(body: Json, location: str | None) -> int | None:
    """Of the transaction that a 409 or a 5XX is about."""
    try:
        named = read_links(body).get("transaction") or location or ""
    except Unreadable:
        named = location or ""
    last = named.rpartition("/")[2]
    return int(last) if "/transactions/" in named and _AUDIT.fullmatch(last) else None


def _base_named(body: Json) -> str | None:
    """Only to be shown to people."""
    try:
        named = read_links(body).get("base") or ""
    except Unreadable:
        return None
    return named if _BASE.fullmatch(named) else None


def _seconds(text: str | None) -> float:
    """A date is not understood: the gateway sends seconds."""
    if text is None or not (text.isascii() and text.isdecimal() and len(text) < 10):
        return 0.0
    return min(float(text), LONGEST_RETRY_AFTER_SECONDS)
