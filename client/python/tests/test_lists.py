"""History, events, settlement days, and what a payments team makes of them."""

import csv
import io
import threading
import unittest

from tollgate_client import COLUMNS, Outcome, Transaction, TransactionType, write_csv

from . import meddling_proxy as meddling
from .meddling_proxy import MeddlingProxy
from .scene import client, order, pay


class Lists(unittest.TestCase):
    gateway = client()
    reference = order()
    payments: list[Transaction]

    @classmethod
    def setUpClass(cls) -> None:
        cls.payments = [pay(cls.gateway, cls.reference, amount_cents=cents) for cents in (100, 200, 300)]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.gateway.close()

    def test_history_has_every_page_over_a_bad_connection(self) -> None:
        audits = [payment.audit for payment in self.payments]
        self.assertEqual([each.audit for each in self.gateway.history(reference=self.reference, limit=2)], audits[::-1])
        with MeddlingProxy(meddling.lose_request, meddling.cut_answer, method="GET") as proxy:
            with client(proxy.base_url) as gateway:
                found = list(gateway.history(reference=self.reference, limit=1))
        self.assertEqual([each.audit for each in found], audits[::-1])
        (one,) = self.gateway.history(reference=self.reference, amount_cents=200, from_="2020-01-01")
        self.assertEqual(one.audit, audits[1])

    def test_events_come_once_in_order_and_continue_after_a_page(self) -> None:
        ours = [payment.audit for payment in self.payments]
        pages = list(self.gateway.events(wait=0, limit=2).pages())
        events = [event for page in pages for event in page.results]
        self.assertEqual([each.data["audit"] for each in events if each.data.get("audit") in ours], ours)
        self.assertEqual(len({event.id for event in events}), len(events))
        # The last page is empty, and says so.
        self.assertEqual((pages[-1].results, pages[-1].next), ((), None))
        after = pages[-3].next
        following = [event.id for event in self.gateway.events(wait=0, after=after)]
        self.assertEqual(following[: len(pages[-2].results)], [event.id for event in pages[-2].results])

    def test_waiting_for_events_ends_when_cancelled(self) -> None:
        last = [page.next for page in self.gateway.events(wait=0).pages() if page.next is not None][-1]
        cancel = threading.Event()
        shop = threading.Thread(target=lambda: pay(self.gateway, order(), amount_cents=777))
        shop.start()
        seen = 0
        for event in self.gateway.events(after=last, wait=30, cancel=cancel):
            seen += 1
            # Others trade, too, and change customers, which have no amount.
            amount = event.data.get("transaction", {}).get("amount_details", {})
            if amount.get("total_amount") == "777":
                # The next page would be waited for without end.
                cancel.set()
        shop.join()
        self.assertGreaterEqual(seen, 1)

    def test_the_rows_of_a_day_match_its_totals(self) -> None:
        day = self.gateway.transaction(self.payments[0].audit).status.acquirer.settlement_date
        assert day is not None
        file = io.StringIO(newline="")
        count = write_csv(self.gateway.history(settlement_date=day, reference=self.reference), file)
        file.seek(0)
        rows = list(csv.DictReader(file))
        self.assertEqual((len(rows), tuple(rows[0])), (count, COLUMNS))
        self.assertEqual(
            {row["amount_cents"] for row in rows if row["audit"] in {str(each.audit) for each in self.payments}},
            {"100", "200", "300"},
        )
        self.assertEqual({(row["transaction_type"], row["status"]) for row in rows}, {("purchase", "approved")})
        report = self.gateway.settlement(day)
        self.assertEqual(report.date, day)
        purchases = [line for line in report.lines if (line.transaction_type, line.card_type) == ("purchase", "visa")]
        self.assertGreaterEqual(sum(line.total_amount for line in purchases), 600)
        self.assertEqual(sum(line.total_amount for line in report.lines), sum(net.total_amount for net in report.net))

    def test_a_filter_may_be_a_value_of_the_client(self) -> None:
        of_type = self.gateway.history(
            reference=self.reference, status=Outcome.APPROVED, transaction_type=TransactionType.PURCHASE
        )
        self.assertEqual(len(list(of_type)), len(self.payments))

    def test_a_reference_that_looks_like_a_formula_is_written_as_text(self) -> None:
        reference = "=cmd" + order()
        pay(self.gateway, reference)
        file = io.StringIO(newline="")
        write_csv(self.gateway.history(reference=reference), file)
        self.assertIn("'" + reference, file.getvalue())
