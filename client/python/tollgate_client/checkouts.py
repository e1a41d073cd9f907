"""Checkouts: pages on which payers pay. A correlation ID makes one, so that a checkout that was begun before is found, and not made
twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from urllib.parse import quote
from uuid import uuid4

from .answers import Checkout, read_checkout, read_checkouts
from .asking import Asking
from .errors import Refused
from .gateway import payload_of


class Checkouts:
    def __init__(self, asking: Asking, merchant_id: int | None) -> None:
        self._asking = asking
        self._merchant_id = merchant_id

    def create(
        self,
        *,
        reference: str,
        amount_cents: int | None = None,
        currency: str | None = None,
        operation: str | None = None,
        payment_methods: Sequence[str] | None = None,
        description: str | None = None,
        customer_id: int | None = None,
        return_url: str | None = None,
        cancel_url: str | None = None,
        expires_in: int | None = None,
        attempts: int | None = None,
        frame_origins: Sequence[str] | None = None,
        correlation_id: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Checkout:
        """Send the payer to its `url`. Where the correlation ID has made one already, that one."""
        chosen = correlation_id or str(uuid4())
        merchant = self._merchant(merchant_id)
        amount = None if amount_cents is None else {"total_amount": str(amount_cents), "currency": currency}
        details = {
            "reference": reference,
            "amount_details": amount,
            "operation": operation,
            "payment_methods": None if payment_methods is None else list(payment_methods),
            "description": description,
            "customer_id": customer_id,
            "return_url": return_url,
            "cancel_url": cancel_url,
            "expires_in": expires_in,
            "attempts": attempts,
            "frame_origins": None if frame_origins is None else list(frame_origins),
        }
        given = {name: value for name, value in details.items() if value is not None}

        body = payload_of({"merchant": {"id": merchant}, "checkout": given})
        return self._asking.make_once(
            "checkouts.create",
            "/checkouts",
            read_checkout,
            body=body,
            find=lambda: self.search(chosen, merchant_id=merchant, cancel=cancel),
            correlation_id=chosen,
            cancel=cancel,
        )

    def get(self, checkout_id: str, *, cancel: threading.Event | None = None) -> Checkout:
        """What has come of it: ask when the payer returns, and when an event tells of it."""
        return self._asking.ask("checkouts.get", _checkout(checkout_id), read_checkout, cancel=cancel)

    def search(
        self, correlation_id: str, *, merchant_id: int | None = None, cancel: threading.Event | None = None
    ) -> Checkout | None:
        query = {"merchant_id": self._merchant(merchant_id), "correlation_id_lookup": correlation_id}
        found = self._asking.ask("checkouts.search", "/checkouts", read_checkouts, query=query, cancel=cancel)
        return found[0] if found else None

    def cancel(self, checkout_id: str, *, cancel: threading.Event | None = None) -> Checkout:
        """From then on nobody can pay it. Raises `Refused` with `checkout_not_open` if it was paid, or is being paid."""

        def cancelled_before(refused: Refused) -> Checkout | None:
            if not refused.has("checkout_not_open"):
                return None
            found = self.get(checkout_id, cancel=cancel)
            return found if found.status == "cancelled" else None

        path = _checkout(checkout_id) + "/cancel"
        return self._asking.change(
            "checkouts.cancel", "POST", path, read_checkout, settled=cancelled_before, cancel=cancel
        )

    def _merchant(self, merchant_id: int | None) -> int:
        merchant = self._merchant_id if merchant_id is None else merchant_id
        if merchant is None:
            raise ValueError("which merchant? Name it here, or when you make the client")
        return merchant


def _checkout(checkout_id: str) -> str:
    return f"/checkouts/{quote(checkout_id, safe='')}"
