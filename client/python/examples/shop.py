"""A shop that takes orders until each has a known outcome, and may be killed at any moment: started again on the same books, it goes on
with the orders that it had only begun.

Environment: TOLLGATE_CLIENT_URL, TOLLGATE_CLIENT_USERNAME, TOLLGATE_CLIENT_PASSWORD; SHOP_BOOKS, a file of JSON lines; SHOP_ORDERS, SHOP_CONCURRENCY, SHOP_SEED;
SHOP_MERCHANT (1 unless it says otherwise) and SHOP_TIMEOUT_SECONDS, for one request.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tollgate_client import Begun, Card, OutcomeUnknown, Refused, Tollgate, Transaction

# Most are paid; 05 is declined, and the acquirer loses the answer to the last one.
CARDS = ["4111111111111111"] * 7 + ["5555555555554444", "4100000000000050", "4200000000000034"]


@dataclass
class Order:
    number: int
    correlation_id: str
    state: str
    audit: int | None = None


class Books:
    """The shop's own memory. Each line is durable before the request that it is about is sent; the last line of an order counts."""

    def __init__(self, path: Path, seed: int) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self.orders: dict[int, Order] = {}
        # A line that was being written when the process was killed is not whole: its request was not sent.
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                order = Order(entry["order"], entry["correlationId"], entry["state"], entry.get("audit"))
            except (ValueError, KeyError):
                continue
            self.orders[order.number] = order
        self._file = path.open("a")
        if text and not text.endswith("\n"):
            self._file.write("\n")

    def amount_cents(self, number: int) -> int:
        return random.Random(self._seed * 1_000_003 + number).randint(100, 99_999)

    def pan(self, number: int) -> str:
        return random.Random(self._seed * 1_000_033 + number).choice(CARDS)

    def begun_before(self, number: int) -> str | None:
        """The correlation ID that an order was begun with by a process that is gone."""
        order = self.orders.get(number)
        return None if order is None else order.correlation_id

    def write(self, order: Order) -> None:
        entry = {
            "order": order.number,
            "correlationId": order.correlation_id,
            "amountCents": self.amount_cents(order.number),
            "state": order.state,
            **({} if order.audit is None else {"audit": order.audit}),
        }
        with self._lock:
            self.orders[order.number] = order
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def outcome_of(payment: Transaction) -> str:
    return "paid" if payment.approved else "declined"


def place(gateway: Tollgate, books: Books, reference: str, number: int) -> None:
    """One order to its end."""
    order = Order(number, books.begun_before(number) or "", "begun")

    def begin(begun: Begun) -> None:
        if order.correlation_id != begun.correlation_id:
            order.correlation_id = begun.correlation_id
            books.write(Order(number, begun.correlation_id, "begun"))

    while True:
        try:
            payment = gateway.purchase(
                reference=reference,
                amount_cents=books.amount_cents(number),
                currency="AUD",
                payment_method=Card(books.pan(number), "1239", "123"),
                correlation_id=order.correlation_id or None,
                before_send=begin,
            )
        except OutcomeUnknown as unknown:
            # Not a failure. Under the same correlation ID it can be asked about for ever.
            books.write(Order(number, order.correlation_id, "unknown"))
            if unknown.reason == "not_trusted":
                # Somebody has to mend the certificate first.
                raise
        except Refused:
            return books.write(Order(number, order.correlation_id, "refused"))
        else:
            return books.write(Order(number, order.correlation_id, outcome_of(payment), payment.audit))


def main() -> int:
    environment = os.environ
    seed = int(environment.get("SHOP_SEED", "1"))
    books = Books(Path(environment["SHOP_BOOKS"]), seed)
    gateway = Tollgate(
        environment["TOLLGATE_CLIENT_URL"],
        environment["TOLLGATE_CLIENT_USERNAME"],
        environment["TOLLGATE_CLIENT_PASSWORD"],
        merchant_id=int(environment.get("SHOP_MERCHANT", "1")),
        request_timeout_seconds=float(environment.get("SHOP_TIMEOUT_SECONDS", "15")),
    )
    due = [
        number
        for number in range(int(environment["SHOP_ORDERS"]))
        if number not in books.orders or books.orders[number].state in ("begun", "unknown")
    ]
    with gateway, ThreadPoolExecutor(int(environment.get("SHOP_CONCURRENCY", "4"))) as pool:
        for _ in pool.map(lambda number: place(gateway, books, f"shop-{seed}-{number}", number), due):
            pass
    states = [order.state for order in books.orders.values()]
    print(", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
