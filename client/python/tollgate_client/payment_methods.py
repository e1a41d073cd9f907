"""What is paid with. None of these shows its number, in whichever way it is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from .answers import Json


@dataclass(frozen=True)
class Credential:
    """Who starts a payment with a card that is kept, and under which agreement."""

    reason: str
    sequence: str
    initiator: str = "customer"
    network_transaction_id: str | None = None

    def in_transaction(self) -> dict[str, Any]:
        said = {"initiator": self.initiator, "reason": self.reason, "sequence": self.sequence}
        if self.network_transaction_id is not None:
            said["network_transaction_id"] = self.network_transaction_id
        return said


@dataclass(frozen=True)
class Card:
    """A card number with its expiry date (`MMYY`), or a virtual PAN alone. `three_d_secure`: the result of a check made elsewhere, as the
    interface has it."""

    pan: str = field(repr=False)
    expiry_date: str | None = field(default=None, repr=False)
    cvv: str | None = field(default=None, repr=False)
    three_d_secure: Mapping[str, str] | None = field(default=None, repr=False)

    def in_transaction(self) -> dict[str, Any]:
        given = {"pan": self.pan, "expiry_date": self.expiry_date, "cvv": self.cvv}
        card: dict[str, Any] = {name: text for name, text in given.items() if text is not None}
        if self.three_d_secure is not None:
            card["three_d_secure"] = dict(self.three_d_secure)
        return {"creditcard": card}


@dataclass(frozen=True)
class BankAccount:
    """An Australian bank account, for direct debit."""

    bsb: str
    account_number: str = field(repr=False)
    account_name: str

    def in_transaction(self) -> dict[str, Any]:
        return {
            "bankaccount": {
                "bsb": self.bsb,
                "account_number": self.account_number,
                "account_name": self.account_name,
            }
        }

    def in_token(self) -> dict[str, Any]:
        return {
            "general_bankaccount": {
                "BANK.BSB": self.bsb,
                "BANK.ACCOUNT_NUMBER": self.account_number,
                "BANK.ACCOUNT_NAME": self.account_name,
            }
        }

    def is_shown_as(self, account: Json) -> bool:
        shown = account.get("general_bankaccount")
        digits = re.sub("[- ]", "", self.account_number)
        return (
            isinstance(shown, dict)
            and str(shown.get("BANK.BSB")).replace("-", "") == self.bsb.replace("-", "")
            and str(shown.get("BANK.ACCOUNT_NUMBER")) == "*" * (len(digits) - 3) + digits[-3:]
            and shown.get("BANK.ACCOUNT_NAME") == self.account_name
        )


@dataclass(frozen=True)
class CardToStore:
    """A card for the vault: with the name on it, and never with a CVV."""

    pan: str = field(repr=False)
    expiry_date: str = field(repr=False)
    name: str

    def in_token(self) -> dict[str, Any]:
        return {
            "general_creditcard": {
                "CARD.PAN": self.pan,
                "CARD.EXPIRY": self.expiry_date,
                "CARD.NAME": self.name,
            }
        }

    def is_shown_as(self, account: Json) -> bool:
        shown = account.get("general_creditcard")
        mask = self.pan[:6] + "*" * (len(self.pan) - 10) + self.pan[-4:]
        return isinstance(shown, dict) and shown.get("CARD.PAN") == mask and shown.get("CARD.NAME") == self.name


PaymentMethod = Union[Card, BankAccount]
Account = Union[CardToStore, BankAccount]
