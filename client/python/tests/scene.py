"""What the tests share: the gateway that they were given, cards, and a log that is kept."""

from __future__ import annotations

import os
import uuid
from typing import Any

from tollgate_client import Card, Created, Observed, Tollgate, Transaction

BASE_URL = os.environ["TOLLGATE_CLIENT_URL"]
USERNAME = os.environ["TOLLGATE_CLIENT_USERNAME"]
PASSWORD = os.environ["TOLLGATE_CLIENT_PASSWORD"]
MERCHANT = 1

PAN = "4111111111111111"
CVV = "739"
# What must succeed has as long as a machine needs that is busy with other tests.
PATIENCE_SECONDS = 120.0


def card(pan: str = PAN) -> Card:
    return Card(pan, "1239", CVV)


def order() -> str:
    """A reference of its own for each test."""
    return f"order-{uuid.uuid4()}"


class KeptLog:
    def __init__(self) -> None:
        self.lines: list[Observed] = []

    def __call__(self, observed: Observed) -> None:
        self.lines.append(observed)

    def kinds(self) -> list[str]:
        return [observed.kind for observed in self.lines]


def client(base_url: str = BASE_URL, **options: Any) -> Tollgate:
    settings: dict[str, Any] = {"merchant_id": MERCHANT, "outcome_timeout_seconds": PATIENCE_SECONDS, **options}
    return Tollgate(base_url, USERNAME, settings.pop("password", PASSWORD), **settings)


def pay(gateway: Tollgate, reference: str, pan: str = PAN, **options: Any) -> Created:
    options = {"amount_cents": 1995, "currency": "AUD", **options}
    return gateway.purchase(reference=reference, payment_method=card(pan), **options)


def booked(reference: str) -> list[Transaction]:
    """What the gateway has under a reference, whatever stands between."""
    with client() as gateway:
        return list(gateway.history(reference=reference))


def booked_reference(audit: int) -> str:
    with client() as gateway:
        details = gateway.transaction(audit).transaction
        assert details is not None
        return details.reference
