"""What is paid with. None of these shows its number, in whichever way it is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Union

from .answers import Json


@dataclass(frozen=True)
class Card:
    """A card number with its expiry date (`MMYY`), or a virtual PAN alone."""

    pan: str = field(repr=False)
    expiry_date: str | None = field(default=None, repr=False)
    cvv: str | None = field(default=None, repr=False)

    def in_transaction(self) -> dict[str, Any]:
        given = {"pan": self.pan, "expiry_date": self.expiry_date, "cvv": self.cvv}
        return {"creditcard": {name: text for name, text in given.items() if text is not None}}


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
