"""Settlement days, and transactions as rows of a CSV file, to hold against an acquirer's or a ledger's."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from .answers import Json, Transaction, Unreadable

COLUMNS = (
    "settlement_date",
    "merchant_id",
    "audit",
    "target_audit",
    "reference",
    "transaction_type",
    "status",
    "amount_cents",
    "currency",
    "payment_method",
    "card_type",
    "response_code",
    "gateway_timestamp",
)


@dataclass(frozen=True)
class SettlementLine:
    merchant_id: int
    acquirer: str
    payment_method: str
    card_type: str
    transaction_type: str
    currency: str
    count: int
    #: Cents; with a minus they are taken from the merchant.
    total_amount: int


@dataclass(frozen=True)
class SettlementNet:
    merchant_id: int
    currency: str
    total_amount: int


@dataclass(frozen=True)
class Settlement:
    date: str
    closes: str
    closed: bool
    lines: tuple[SettlementLine, ...]
    net: tuple[SettlementNet, ...]
    raw: Json = field(repr=False, compare=False)


def read_settlement(body: Json) -> Settlement:
    try:
        return Settlement(
            str(body["date"]),
            str(body["closes"]),
            body["closed"] is True,
            tuple(
                SettlementLine(
                    line["merchant"]["id"],
                    line["acquirer"],
                    line["payment_method"],
                    line["card_type"],
                    line["transaction_type"],
                    line["currency"],
                    line["count"],
                    int(line["total_amount"]),
                )
                for line in body["lines"]
            ),
            tuple(
                SettlementNet(net["merchant"]["id"], net["currency"], int(net["total_amount"])) for net in body["net"]
            ),
            body,
        )
    except (KeyError, TypeError, ValueError):
        raise Unreadable from None


def rows(transactions: Iterable[Transaction]) -> Iterator[dict[str, str]]:
    """Looked-up transactions, such as those of `history`, as rows with the columns `COLUMNS`."""
    for each in transactions:
        details = each.transaction
        if details is None:
            raise ValueError("only transactions that were looked up have all of a row")
        method = next(iter(details.payment_method), "")
        values = (
            each.status.acquirer.settlement_date,
            each.merchant_id,
            each.audit,
            details.target_audit,
            _no_formula(details.reference),
            details.transaction_type,
            each.outcome.value,
            details.amount_details.total_amount,
            details.amount_details.currency,
            method,
            details.payment_method.get("creditcard", {}).get("type"),
            each.status.acquirer.response_code,
            each.gateway_timestamp,
        )
        yield {column: "" if value is None else str(value) for column, value in zip(COLUMNS, values)}


def write_csv(transactions: Iterable[Transaction], file: TextIO) -> int:
    """Writes a header line and a line for each transaction; says how many. Open the file with `newline=""`."""
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    count = 0
    for row in rows(transactions):
        writer.writerow(row)
        count += 1
    return count


def _no_formula(text: str) -> str:
    """A spreadsheet would calculate what begins like this."""
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text
