"""What a call asks for, and the body that the gateway gets of it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from .gateway import payload_of
from .memory import Begun
from .payment_methods import Card, Credential, PaymentMethod
from .transport import Payload

_CARD_NUMBER = re.compile("[0-8][0-9]{11,18}")
_BETWEEN_DIGITS = re.compile("[^0-9a-zA-Z]")
_CORRELATION_ID = re.compile(r"[a-zA-Z0-9+\-_:.,]{1,128}")


@dataclass(frozen=True)
class Order:
    operation: str
    path: str
    reference: str
    amount_cents: int | None = None
    currency: str | None = None
    payment_method: PaymentMethod | None = field(default=None, repr=False)
    payer_address: str | None = None
    credential: Credential | None = None
    target_audit: int | None = None

    def begun(self, correlation_id: str, merchant_id: int) -> Begun:
        self._check_texts(correlation_id)
        return Begun(
            correlation_id,
            self.operation,
            merchant_id,
            self.reference,
            self.amount_cents,
            self.currency,
            self.target_audit,
            begun_at=time.time(),
        )

    def _check_texts(self, correlation_id: str) -> None:
        """What was begun is stored, and told: a card number in it would be, too. A virtual PAN, which begins with 9, is none."""
        pan = self.payment_method.pan if isinstance(self.payment_method, Card) else ""
        if not _CARD_NUMBER.fullmatch(pan):
            return
        for text in (self.reference, correlation_id, str(self.amount_cents)):
            if pan in _BETWEEN_DIGITS.sub("", text):
                raise ValueError("the card number stands where it does not belong: in the reference, the amount or the ID")

    def payload(self, merchant_id: int, kvps: Mapping[str, str] | None) -> Payload:
        transaction: dict[str, object] = {"reference": self.reference}
        if self.amount_cents is not None:
            # True and 19.95 are numbers to Python, too.
            if type(self.amount_cents) is not int or self.amount_cents <= 0:
                raise ValueError("amount_cents is a whole number of cents above 0")
            transaction["amount_details"] = {"total_amount": str(self.amount_cents), "currency": self.currency}
        if self.payment_method is not None:
            transaction["payment_method"] = self.payment_method.in_transaction()
        if self.payer_address is not None:
            transaction["payer"] = {"address": self.payer_address}
        if self.credential is not None:
            transaction["credential"] = self.credential.in_transaction()
        return payload_of({"merchant": {"id": merchant_id}, "kvps": dict(kvps or {}), "transaction": transaction})


def check_correlation_id(correlation_id: str) -> None:
    if not _CORRELATION_ID.fullmatch(correlation_id):
        raise ValueError("a correlation ID has 1 to 128 letters, digits and + - _ : . ,")
