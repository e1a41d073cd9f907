"""The calls that create a transaction. Each returns once the outcome is known; `creation.py` says what it does until then.

All of them take `merchant_id`, unless the client has one; `correlation_id`, a new UUID unless given: the same operation under the same ID
cannot happen twice; `before_send`, after the client's own; `outcome_timeout_seconds` instead of the client's; and `cancel`, which ends the
call: once it was sent, with `OutcomeUnknown`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from .answers import Created
from .creation import BeforeSend, Creations
from .gateway import Gateway
from .memory import Memory
from .orders import Order
from .payment_methods import Card, Credential, PaymentMethod


class Payments:
    def __init__(self, gateway: Gateway, memory: Memory | None, before_send: BeforeSend | None) -> None:
        self._creations = Creations(gateway, memory, before_send)
        self._merchant_id = gateway.settings.merchant_id

    def purchase(
        self,
        *,
        reference: str,
        amount_cents: int,
        currency: str,
        payment_method: PaymentMethod,
        payer_address: str | None = None,
        credential: Credential | None = None,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Takes money from a card or a bank account. Look at `outcome`: a declined payment is a result, too."""
        path = "/transactions/purchase"
        order = Order("purchase", path, reference, amount_cents, currency, payment_method, payer_address, credential)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def preauthorisation(
        self,
        *,
        reference: str,
        amount_cents: int,
        currency: str,
        payment_method: Card,
        payer_address: str | None = None,
        credential: Credential | None = None,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Holds an amount on a card."""
        path = "/transactions/preauthorisation"
        order = Order("preauthorisation", path, reference, amount_cents, currency, payment_method, payer_address, credential)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def standalone_refund(
        self,
        *,
        reference: str,
        amount_cents: int,
        currency: str,
        payment_method: PaymentMethod,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Pays money to a card or an account, without an earlier transaction. Prefer `refund`."""
        order = Order("standalone_refund", "/transactions/refund", reference, amount_cents, currency, payment_method)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def completion(
        self,
        audit: int,
        *,
        reference: str,
        amount_cents: int,
        currency: str,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Takes what a preauthorisation holds, or less."""
        path = f"/transactions/{audit:d}/completion"
        order = Order("completion", path, reference, amount_cents, currency, target_audit=audit)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def refund(
        self,
        audit: int,
        *,
        reference: str,
        amount_cents: int,
        currency: str,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Gives back a purchase or a completion, or a part of it."""
        path = f"/transactions/{audit:d}/refund"
        order = Order("refund", path, reference, amount_cents, currency, target_audit=audit)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def void(
        self,
        audit: int,
        *,
        reference: str,
        merchant_id: int | None = None,
        kvps: Mapping[str, str] | None = None,
        correlation_id: str | None = None,
        before_send: BeforeSend | None = None,
        outcome_timeout_seconds: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Created:
        """Undoes a transaction that has not settled."""
        order = Order("void", f"/transactions/{audit:d}/void", reference, target_audit=audit)
        return self._create(order, merchant_id, kvps, correlation_id, before_send, outcome_timeout_seconds, cancel)

    def _create(
        self,
        order: Order,
        merchant_id: int | None,
        kvps: Mapping[str, str] | None,
        correlation_id: str | None,
        before_send: BeforeSend | None,
        outcome_timeout_seconds: float | None,
        cancel: threading.Event | None,
    ) -> Created:
        merchant_id = self._merchant(merchant_id)
        payload = order.payload(merchant_id, kvps)
        return self._creations.create(
            order, payload, merchant_id, correlation_id, before_send, outcome_timeout_seconds, cancel
        )

    def _merchant(self, merchant_id: int | None) -> int:
        chosen = self._merchant_id if merchant_id is None else merchant_id
        if chosen is None:
            raise ValueError("name a merchant_id, here or for the whole client")
        return chosen
