"""A payment whose request or answer is lost, late, cut, repeated or replaced: its outcome is found, and it is charged once."""

import os
import socket
import threading
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

from tollgate_client import Cancelled, NothingSent, OutcomeUnknown
from tollgate_client.connecting import NotSent, connected_socket
from tollgate_client.limit import Limit

from . import meddling_proxy as meddling
from .meddling_proxy import Fault, MeddlingProxy
from .scene import KeptLog, booked, client, order, pay

TIMEOUT_SECONDS = 1.5
# Longer than the client waits, so that the request arrives after the search.
LATE_SECONDS = 2.5

FAULTS: dict[str, list[Fault]] = {
    "a lost request": [meddling.lose_request],
    "a lost answer": [meddling.lose_answer],
    "a cut answer": [meddling.cut_answer],
    "a repeated request": [meddling.repeat_request],
    "a repeated request and a lost answer": [meddling.repeat_and_lose],
    "a page of a proxy instead of an answer": [meddling.page_of_a_proxy],
    "something that is not even an error": [meddling.garbage],
    "an answer that no program should read": [meddling.nested],
    "problems that are none": [meddling.strange_problems],
    "the answer to another request": [meddling.another_answer],
    "an answer that never ends": [meddling.trickle],
    "a request that arrives when nobody waits for it": [meddling.hold(LATE_SECONDS)],
    "one after the other": [meddling.lose_request, meddling.lose_answer, meddling.repeat_request],
    "an overloaded gateway": [meddling.made_up(503, "not_processed", Retry_After="1")] * 2,
    "too many requests": [meddling.made_up(429, "too_many_requests", Retry_After="1")],
    "an error inside": [meddling.made_up(500, "internal_error")],
}


class Recovery(unittest.TestCase):
    def test_every_network_fault_leads_to_one_charge_under_one_id(self) -> None:
        def through(name: str) -> None:
            reference = order()
            with MeddlingProxy(*FAULTS[name]) as proxy, client(proxy.base_url, request_timeout_seconds=TIMEOUT_SECONDS) as gateway:
                payment = pay(gateway, reference)
                self.assertTrue(payment.approved, name)
                self.assertEqual(len(set(proxy.sent())), 1, name)
            # What the proxy has held back arrives by then.
            self.assertEqual([each.audit for each in booked(reference)], [payment.audit], name)

        # At once, since most of the time is spent waiting.
        with ThreadPoolExecutor(len(FAULTS)) as pool:
            for _ in pool.map(through, FAULTS):
                pass

    def test_lost_look_ups_are_repeated(self) -> None:
        reference = order()
        faults = [meddling.lose_request, meddling.garbage, meddling.made_up(503, "unavailable"), meddling.lose_answer]
        lost = [meddling.lose_answer]
        with MeddlingProxy(*lost) as outer:
            with client(outer.base_url, request_timeout_seconds=TIMEOUT_SECONDS) as gateway:
                payment = pay(gateway, reference)
        with MeddlingProxy(*faults, method="GET") as proxy, client(proxy.base_url, lookup_timeout_seconds=10) as gateway:
            self.assertEqual(gateway.transaction(payment.audit).audit, payment.audit)
            self.assertEqual(len(proxy.sent("GET")), len(faults) + 1)

    def test_a_search_without_an_answer_does_not_count_as_empty(self) -> None:
        """As of a gateway whose database was restored, and which does not know what is lost."""
        with MeddlingProxy(meddling.lose_request, for_ever=meddling.made_up(503, "unavailable")) as proxy:
            with client(proxy.base_url, request_timeout_seconds=TIMEOUT_SECONDS) as gateway:
                with self.assertRaises(OutcomeUnknown):
                    pay(gateway, order(), outcome_timeout_seconds=4.0)
        self.assertEqual(len(proxy.sent("POST")), 1)
        self.assertGreater(len(proxy.sent("GET")), 0)

    def test_the_client_waits_for_its_own_timeout_before_it_trusts_an_empty_search(self) -> None:
        """No limit from above: a busy machine may take longer, but never less."""
        with MeddlingProxy(meddling.lose_request) as proxy:
            with client(proxy.base_url, request_timeout_seconds=TIMEOUT_SECONDS) as gateway:
                self.assertTrue(pay(gateway, order()).approved)
        posts = [when for when, (method, _, _) in zip(proxy.times, proxy.seen) if method == "POST"]
        self.assertGreaterEqual(posts[1] - posts[0], TIMEOUT_SECONDS * 0.9)

    def test_an_existing_transaction_is_found_at_once(self) -> None:
        with MeddlingProxy(meddling.lose_answer) as proxy, client(proxy.base_url, request_timeout_seconds=60) as gateway:
            payment = pay(gateway, order())
            self.assertEqual((payment.approved, payment.recovered), (True, True))
            self.assertEqual([method for method, _, _ in proxy.seen], ["POST", "GET"])

    def test_after_the_timeout_the_outcome_is_unknown_and_the_same_id_finds_it(self) -> None:
        reference, mine = order(), str(uuid.uuid4())
        with MeddlingProxy(for_ever=meddling.lose_answer) as proxy:
            with client(proxy.base_url, request_timeout_seconds=5) as gateway:
                with self.assertRaises(OutcomeUnknown) as unknown:
                    pay(gateway, reference, correlation_id=mine, outcome_timeout_seconds=1.0)
        self.assertEqual((unknown.exception.correlation_id, unknown.exception.reason), (mine, "time_is_up"))
        with client() as gateway:
            self.assertTrue(pay(gateway, reference, correlation_id=mine).approved)
        self.assertEqual(len(booked(reference)), 1)

    def test_an_unreachable_gateway_gets_nothing_and_the_error_names_the_cause(self) -> None:
        with MeddlingProxy() as proxy:
            nobody = proxy.base_url
        with client(nobody) as gateway, self.assertRaisesRegex(NothingSent, "nothing was sent .*not_connected") as unsent:
            pay(gateway, order(), outcome_timeout_seconds=0.5)
        # Whoever handles only this one keeps the order open, which is right for an ID that was used before.
        self.assertIsInstance(unsent.exception, OutcomeUnknown)
        self.assertEqual(unsent.exception.reason, "time_is_up")
        self.assertIsInstance(unsent.exception.__cause__, ConnectionRefusedError)

    def test_a_try_that_may_have_arrived_followed_by_one_not_sent_is_unknown(self) -> None:
        connections: list[object] = []

        def once(host: str, port: int, limit: Limit) -> socket.socket:
            connections.append(host)
            if len(connections) > 1:
                raise NotSent
            return connected_socket(host, port, limit)

        with MeddlingProxy(for_ever=meddling.lose_answer) as proxy, client(proxy.base_url) as gateway:
            with patch("tollgate_client.transport.connected_socket", once), self.assertRaises(OutcomeUnknown) as unknown:
                pay(gateway, order(), outcome_timeout_seconds=1)
        self.assertGreater(len(connections), 1)
        self.assertNotIsInstance(unknown.exception, NothingSent)
        self.assertIsNotNone(unknown.exception.__cause__)

    def test_cancelling_ends_a_call_at_once_and_the_outcome_is_unknown(self) -> None:
        reference, mine, cancel = order(), str(uuid.uuid4()), threading.Event()
        reached = threading.Event()

        def swallow(exchange: meddling.Exchange) -> None:
            exchange.forward()
            reached.set()
            exchange.gone.wait(60)

        with MeddlingProxy(swallow) as proxy, client(proxy.base_url, request_timeout_seconds=60) as gateway:
            threading.Thread(target=lambda: (reached.wait(), cancel.set()), daemon=True).start()
            with self.assertRaisesRegex(OutcomeUnknown, "cancelled"):
                pay(gateway, reference, correlation_id=mine, cancel=cancel)
        with client() as gateway:
            found = gateway.search(mine)
        self.assertTrue(found is not None and found.approved)

    def test_cancelling_ends_a_call_that_is_connecting(self) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            # Nobody accepts: further connections wait, too.
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            cancel, port = threading.Event(), full.getsockname()[1]
            with client(f"http://127.0.0.1:{port}/v1", request_timeout_seconds=600) as gateway:
                threading.Timer(0.5, cancel.set).start()
                with self.assertRaisesRegex(OutcomeUnknown, "cancelled"):
                    pay(gateway, order(), cancel=cancel)
            for each in waiting:
                each.close()

    def test_a_call_cancelled_before_sending_sends_nothing(self) -> None:
        cancel = threading.Event()
        cancel.set()
        with MeddlingProxy() as proxy, client(proxy.base_url) as gateway:
            for ask in (lambda: pay(gateway, order(), cancel=cancel), lambda: gateway.transaction(1, cancel=cancel)):
                with self.assertRaises(Cancelled):
                    ask()
            with self.assertRaises(Cancelled):
                pay(gateway, order(), cancel=(later := threading.Event()), before_send=lambda _: later.set())
            self.assertEqual(proxy.seen, [])

    def test_one_id_is_not_used_by_two_calls_at_once(self) -> None:
        mine, inside = str(uuid.uuid4()), []
        with client() as gateway:

            def again(_: object) -> None:
                with self.assertRaises(ValueError):
                    pay(gateway, order(), correlation_id=mine)
                inside.append(mine)

            pay(gateway, order(), correlation_id=mine, before_send=again)
        self.assertEqual(inside, [mine])

    def test_a_refusal_after_a_lost_request_is_searched_for_first(self) -> None:
        """The first request is held up on its way, and arrives when the second is already refused by something between."""
        reference = order()
        second_came, first_arrived = threading.Event(), threading.Event()

        def held_up(exchange: meddling.Exchange) -> None:
            second_came.wait(100)
            exchange.forward()
            first_arrived.set()
            exchange.cut()

        def refuse(exchange: meddling.Exchange) -> None:
            second_came.set()
            first_arrived.wait(100)
            meddling.made_up(403, "operation_not_permitted")(exchange)

        with MeddlingProxy(held_up, refuse) as proxy:
            # Long enough for the first to arrive before the second is given up.
            with client(proxy.base_url, request_timeout_seconds=3) as gateway:
                payment = pay(gateway, reference)
        self.assertEqual((payment.approved, payment.recovered), (True, True))
        self.assertEqual(len(booked(reference)), 1)

    def test_completions_refunds_and_voids_are_recovered_too(self) -> None:
        reference = order()
        amount = {"amount_cents": 1000, "currency": "AUD"}
        with client() as gateway:
            payment = pay(gateway, reference)
        with MeddlingProxy(meddling.lose_answer, meddling.lose_request, meddling.repeat_request) as proxy:
            with client(proxy.base_url, request_timeout_seconds=TIMEOUT_SECONDS) as gateway:
                refund = gateway.refund(payment.audit, reference=reference, **amount)
                second = gateway.refund(payment.audit, reference=reference, amount_cents=500, currency="AUD")
                voided = gateway.void(second.audit, reference=reference)
        self.assertEqual([refund.approved, second.approved, voided.approved], [True] * 3)
        self.assertEqual(len(booked(reference)), 4)

    def test_the_observer_sees_what_happened(self) -> None:
        log = KeptLog()
        with MeddlingProxy(meddling.made_up(503, "not_processed"), meddling.lose_answer) as proxy:
            with client(proxy.base_url, request_timeout_seconds=60, observe=log) as gateway:
                payment = pay(gateway, order())
        self.assertEqual(
            [(each.kind, each.operation) for each in log.lines],
            [
                ("request", "purchase"),
                ("answer", "purchase"),
                ("pause", "purchase"),
                ("request", "purchase"),
                ("no_answer", "purchase"),
                ("request", "search"),
                ("answer", "search"),
            ],
        )
        self.assertEqual((log.lines[1].status, log.lines[1].error_codes), (503, ("not_processed",)))
        self.assertEqual((log.lines[2].because, log.lines[4].reason), ("503 not_processed", "broken"))
        self.assertEqual(log.lines[0].correlation_id, payment.correlation_id)

    def test_an_observer_that_fails_does_no_harm(self) -> None:
        def broken(_: object) -> None:
            raise OSError

        with client(observe=broken) as gateway:
            self.assertTrue(pay(gateway, order()).approved)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_after_a_fork_no_process_gets_the_answer_of_another(self) -> None:
        with client() as gateway:
            references = [order(), order()]
            pay(gateway, order())
            child = os.fork()
            if child == 0:
                os._exit(0 if pay(gateway, references[0]).approved else 1)
            self.assertTrue(pay(gateway, references[1]).approved)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual([len(booked(reference)) for reference in references], [1, 1])

    def test_many_threads_share_one_client(self) -> None:
        with client() as gateway, ThreadPoolExecutor(8) as pool:
            references = [order() for _ in range(24)]
            payments = list(pool.map(lambda reference: pay(gateway, reference), references))
            shown = [gateway.transaction(payment.audit).transaction for payment in payments]
        self.assertEqual([each and each.reference for each in shown], references)


