"""What the gateway answers, as values. Members and values that this version has never heard of do no harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = Mapping[str, Any]
#: `gateway_status_code` of what is not known yet, and of every code that this version does not know.
UNKNOWN_GATEWAY_STATUS = -99
_KNOWN_GATEWAY_STATUSES = (0, 1, 2, 3)
_LONGEST_NUMBER = 40


class Unreadable(Exception):
    """What came is no answer of the gateway's. Inside the client only."""


class Word(str, Enum):
    """A word of the interface. As text it is that word, in a file, in an address and in an f-string alike."""

    def __str__(self) -> str:
        return str(self.value)


class Outcome(Word):
    """What became of a transaction. Every code that is not here is read as `unknown`, and `reversed` as `voided`."""

    APPROVED = "approved"
    DECLINED = "declined"
    PENDING = "pending"
    ERROR = "error"
    VOIDED = "voided"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> Outcome:
        return cls.VOIDED if value == "reversed" else cls.UNKNOWN


class TransactionType(Word):
    """Every type that is not here is read as `unknown`, and `reverse` as `void`."""

    PURCHASE = "purchase"
    PREAUTHORISATION = "preauthorisation"
    COMPLETION = "completion"
    REFUND = "refund"
    STANDALONE_REFUND = "standalone_refund"
    VOID = "void"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> TransactionType:
        return cls.VOID if value == "reverse" else cls.UNKNOWN


@dataclass(frozen=True)
class AcquirerStatus:
    response_code: str | None
    response_message: str | None
    settlement_date: str | None
    authorisation_code: str | None
    preauthorisation_code: str | None
    network_transaction_id: str | None = None


@dataclass(frozen=True)
class Status:
    #: -99 where it is not known yet, or this version does not know it.
    gateway_status_code: int
    gateway_status_message: str
    #: As it came: decide by the transaction's `outcome`.
    transaction_status_code: str
    acquirer: AcquirerStatus


@dataclass(frozen=True)
class AmountDetails:
    #: Cents.
    total_amount: int
    currency: str


@dataclass(frozen=True)
class TransactionDetails:
    reference: str
    transaction_type: TransactionType
    target_audit: int | None
    amount_details: AmountDetails
    #: As the gateway shows it: masked.
    payment_method: Json
    directdebit_mode: str | None


@dataclass(frozen=True)
class Transaction:
    """A transaction. `transaction` is there only when it was looked up; answers that create one do not have it."""

    audit: int
    gateway_timestamp: str
    merchant_id: int
    kvps: Mapping[str, str]
    status: Status
    transaction: TransactionDetails | None
    #: Where to go on, by relation: `refund` is there only while a refund would be accepted.
    links: Mapping[str, str]
    #: All of it, with what this version does not know.
    raw: Json = field(repr=False, compare=False)

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.status.transaction_status_code)

    @property
    def approved(self) -> bool:
        return self.outcome is Outcome.APPROVED

    @property
    def known(self) -> bool:
        """Whether there is an outcome. A pending direct debit is one: it was taken in."""
        return self.outcome is not Outcome.UNKNOWN


@dataclass(frozen=True)
class Created(Transaction):
    """What became of an operation. Look at `outcome`: a declined payment is a result, too."""

    correlation_id: str
    #: The answer was lost, and this was found.
    recovered: bool


@dataclass(frozen=True)
class Customer:
    id: int
    name: str
    reference: str
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class Token:
    id: int
    virtual_pan: str = field(repr=False)
    preferred_name: str
    active: bool
    #: As the gateway shows it: masked.
    account: Json
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class Checkout:
    """A page on which a payer pays. Whoever knows its `url` can pay: give it to the payer alone."""

    id: str = field(repr=False)
    url: str = field(repr=False)
    #: `open`, `processing`, `complete`, `expired` or `cancelled`; there may be new ones.
    status: str
    merchant_id: int
    #: Of the transaction that has paid it.
    audit: int | None
    #: What `tokenise` has come to.
    virtual_pan: str | None = field(repr=False)
    raw: Json = field(repr=False, compare=False)

    @property
    def complete(self) -> bool:
        return self.status == "complete"


@dataclass(frozen=True)
class Schedule:
    """Payments that happen by themselves on their day."""

    id: str
    #: `active`, `paused`, `ended` or `cancelled`; there may be new ones.
    status: str
    merchant_id: int
    customer_id: int
    #: None where there is none any more.
    next_date: str | None
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class Event:
    id: str
    type: str
    created: str
    merchant_id: int
    #: Counts the events about one subject: 1, 2, 3 …
    version: int
    data: Json = field(repr=False)


def read_transaction(body: object) -> Transaction:
    whole = _object(body)
    status = _object(whole.get("status"))
    code = status.get("gateway_status_code")
    acquirer = _object(status.get("acquirer", {}))
    details = whole.get("transaction")
    return Transaction(
        audit=_integer(whole.get("audit")),
        gateway_timestamp=_text(whole.get("gateway_timestamp")),
        merchant_id=_integer(_object(whole.get("merchant")).get("id")),
        kvps={key: _text(text) for key, text in _object(whole.get("kvps", {})).items()},
        status=Status(
            gateway_status_code=code if code in _KNOWN_GATEWAY_STATUSES else UNKNOWN_GATEWAY_STATUS,
            gateway_status_message=_text(status.get("gateway_status_message", "")),
            transaction_status_code=_text(status.get("transaction_status_code")),
            acquirer=AcquirerStatus(
                **{name: _text_or_none(acquirer.get(name)) for name in AcquirerStatus.__dataclass_fields__}
            ),
        ),
        transaction=None if details is None else _read_details(details),
        links=read_links(whole),
        raw=whole,
    )


def as_created(transaction: Transaction, correlation_id: str, *, recovered: bool) -> Created:
    return Created(**vars(transaction), correlation_id=correlation_id, recovered=recovered)


def _read_details(body: object) -> TransactionDetails:
    details = _object(body)
    amount = _object(details.get("amount_details"))
    target = details.get("target_audit")
    return TransactionDetails(
        reference=_text(details.get("reference")),
        transaction_type=TransactionType(_text(details.get("transaction_type"))),
        target_audit=None if target is None else _integer(target),
        amount_details=AmountDetails(_digits(amount.get("total_amount")), _text(amount.get("currency"))),
        payment_method=_object(details.get("payment_method", {})),
        directdebit_mode=_text_or_none(details.get("directdebit_mode")),
    )


def read_checkout(body: object) -> Checkout:
    whole = _object(body)
    result = _object(whole.get("result", {}))
    audit = result.get("audit")
    return Checkout(
        id=_text(whole.get("id")),
        url=_text(whole.get("url")),
        status=_text(whole.get("status")),
        merchant_id=_integer(_object(whole.get("merchant")).get("id")),
        audit=None if audit is None else _integer(audit),
        virtual_pan=_text_or_none(result.get("virtual_pan")),
        raw=whole,
    )


def read_checkouts(body: object) -> list[Checkout]:
    results = _object(body).get("results")
    if not isinstance(results, list):
        raise Unreadable
    return [read_checkout(each) for each in results]


def read_schedule(body: object) -> Schedule:
    whole = _object(body)
    return Schedule(
        id=_text(whole.get("id")),
        status=_text(whole.get("status")),
        merchant_id=_integer(_object(whole.get("merchant")).get("id")),
        customer_id=_integer(whole.get("customer_id")),
        next_date=_text_or_none(whole.get("next_date")),
        raw=whole,
    )


def read_customer(body: object) -> Customer:
    whole = _object(body)
    return Customer(_integer(whole.get("id")), _text(whole.get("name")), _text(whole.get("reference")), whole)


def read_token(body: object) -> Token:
    whole = _object(body)
    return Token(
        # The specification's samples show it as a text.
        id=_digits(whole.get("id")) if isinstance(whole.get("id"), str) else _integer(whole.get("id")),
        virtual_pan=_text(whole.get("virtual_pan")),
        preferred_name=_text(whole.get("preferred_name")),
        active=whole.get("active") is True,
        account=_object(whole.get("account", {})),
        raw=whole,
    )


def read_event(body: object) -> Event:
    whole = _object(body)
    return Event(
        id=_text(whole.get("id")),
        type=_text(whole.get("type")),
        created=_text(whole.get("created")),
        merchant_id=_integer(_object(whole.get("merchant")).get("id")),
        version=_integer(whole.get("version")),
        data=_object(whole.get("data")),
    )


def read_links(whole: Json) -> dict[str, str]:
    """Relations to addresses. A relation without an address is none."""
    links = {name: _object(link).get("href") for name, link in _object(whole.get("_links", {})).items()}
    return {name: href for name, href in links.items() if isinstance(href, str)}


def read_cursor(whole: Json) -> str | None:
    """Where the next page begins. Only that is taken from the link: it cannot lead a client, and its secret, elsewhere."""
    href = read_links(whole).get("next")
    if href is None:
        return None
    after = parse_qs(urlsplit(href).query).get("after")
    if not after:
        raise Unreadable
    return after[0]


def read_results(whole: Json) -> list[object]:
    results = whole.get("results")
    if not isinstance(results, list):
        raise Unreadable
    return results


def read_search(body: Json) -> Transaction | None:
    results = read_results(body)
    return read_transaction(results[0]) if results else None


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise Unreadable
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unreadable
    return value


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable
    return value


def _digits(value: object) -> int:
    text = _text(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise Unreadable
    return int(text)
