"""Schedules: payments that happen by themselves on their day. A correlation ID makes one, however often it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from urllib.parse import quote
from uuid import uuid4

from .answers import Schedule, read_schedule
from .asking import Asking
from .errors import Refused
from .gateway import payload_of
from .pages import Page, Pages, read_page


class Schedules:
    def __init__(self, asking: Asking, merchant_id: int | None) -> None:
        self._asking = asking
        self._merchant_id = merchant_id

    def create(
        self,
        *,
        reference: str,
        virtual_pan: str,
        amount_cents: int,
        currency: str,
        first_date: str,
        every: Mapping[str, int],
        count: int | None = None,
        until: str | None = None,
        on_failure: str | None = None,
        correlation_id: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Schedule:
        """`every`: `{"days": 14}`, `{"weeks": 1}` or `{"months": 1}`. Where the correlation ID has made one already, that one."""
        chosen = correlation_id or str(uuid4())
        merchant = self._merchant(merchant_id)
        details = {
            "reference": reference,
            "virtual_pan": virtual_pan,
            "amount_details": {"total_amount": str(amount_cents), "currency": currency},
            "first_date": first_date,
            "every": dict(every),
            "count": count,
            "until": until,
            "on_failure": on_failure,
        }
        given = {name: value for name, value in details.items() if value is not None}

        def found() -> Schedule | None:
            for each in self.list(correlation_id=chosen, merchant_id=merchant, cancel=cancel):
                return self.get(each.id, cancel=cancel)
            return None

        body = payload_of({"merchant": {"id": merchant}, "schedule": given})
        return self._asking.make_once(
            "schedules.create",
            "/schedules",
            read_schedule,
            body=body,
            find=found,
            correlation_id=chosen,
            cancel=cancel,
        )

    def get(self, schedule_id: str, *, cancel: threading.Event | None = None) -> Schedule:
        """With its last dates, and how many were paid, failed and skipped, in `raw`."""
        return self._asking.ask("schedules.get", _schedule(schedule_id), read_schedule, cancel=cancel)

    def list(
        self,
        *,
        customer_id: int | None = None,
        status: str | None = None,
        correlation_id: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Pages[Schedule]:
        """The newest first. `limit` is the size of a page, and not of the whole."""
        query = {
            "merchant_id": self._merchant_id if merchant_id is None else merchant_id,
            "customer_id": customer_id,
            "status": status,
            "correlation_id_lookup": correlation_id,
            "limit": limit,
        }

        def fetch(onwards: str | None) -> Page[Schedule]:
            asked = {**query, "after": onwards or after}
            return self._asking.ask("schedules.list", "/schedules", read_page(read_schedule), query=asked, cancel=cancel)

        return Pages(fetch)

    def update(
        self,
        schedule_id: str,
        *,
        amount_cents: int | None = None,
        currency: str | None = None,
        next_date: str | None = None,
        cancel: threading.Event | None = None,
    ) -> Schedule:
        amount = None if amount_cents is None else {"total_amount": str(amount_cents), "currency": currency}
        changes = {"amount_details": amount, "next_date": next_date}
        given = {name: value for name, value in changes.items() if value is not None}
        body = payload_of({"schedule": given})
        return self._asking.change(
            "schedules.update", "PATCH", _schedule(schedule_id), read_schedule, body=body, cancel=cancel
        )

    def pause(self, schedule_id: str, *, cancel: threading.Event | None = None) -> Schedule:
        """Nothing is begun or tried again until it is resumed."""
        return self._turn(schedule_id, "pause", "paused", cancel)

    def resume(self, schedule_id: str, *, cancel: threading.Event | None = None) -> Schedule:
        """What has passed meanwhile is skipped."""
        return self._turn(schedule_id, "resume", "active", cancel)

    def cancel(self, schedule_id: str, *, cancel: threading.Event | None = None) -> Schedule:
        """Raises `Refused` with `schedule_not_open` if it has ended."""
        return self._turn(schedule_id, "cancel", "cancelled", cancel)

    def _turn(self, schedule_id: str, what: str, status: str, cancel: threading.Event | None) -> Schedule:
        """One that is so already is what was asked for: the answer before may have been lost."""

        def done_before(refused: Refused) -> Schedule | None:
            if not refused.has("schedule_not_open"):
                return None
            found = self.get(schedule_id, cancel=cancel)
            return found if found.status == status else None

        path = f"{_schedule(schedule_id)}/{what}"
        return self._asking.change(
            f"schedules.{what}", "POST", path, read_schedule, settled=done_before, cancel=cancel
        )

    def _merchant(self, merchant_id: int | None) -> int:
        merchant = self._merchant_id if merchant_id is None else merchant_id
        if merchant is None:
            raise ValueError("which merchant? Name it here, or when you make the client")
        return merchant


def _schedule(schedule_id: str) -> str:
    return f"/schedules/{quote(schedule_id, safe='')}"
