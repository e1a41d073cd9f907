"""A process that is killed while it pays, and the next one that finds out what became of it."""

import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from pathlib import Path

from tollgate_client import Begun, OutcomeUnknown, Recovered, Refused, Transaction
from tollgate_client.sqlite_memory import SqliteMemory

from . import meddling_proxy as meddling
from .meddling_proxy import MeddlingProxy
from .scene import KeptLog, booked, booked_reference, client, order, pay

PROJECT = Path(__file__).parent.parent


class Memory(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "memory.db"
        self.reference, self.mine = order(), str(uuid.uuid4())

    def memory(self) -> SqliteMemory:
        memory = SqliteMemory(self.path)
        self.addCleanup(memory.close)
        return memory

    def killed(self, base_url: str, moment: threading.Event | None) -> None:
        """Starts a shop, and kills it at that moment, or once it has begun."""
        command = [sys.executable, "-m", "tests.killed_shop", str(self.path), base_url, self.reference, self.mine]
        with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as shop:
            try:
                assert shop.stdout is not None
                self.assertEqual(shop.stdout.readline(), "begun\n")
                self.assertTrue(moment is None or moment.wait(100))
            finally:
                shop.kill()

    def recovered(self) -> tuple[Begun, Transaction | None]:
        with client(memory=self.memory(), request_timeout_seconds=1) as gateway:
            (one,) = gateway.recover_all()
            assert isinstance(one, Recovered)
            self.assertEqual((one.begun.correlation_id, one.begun.reference), (self.mine, self.reference))
            self.assertEqual(list(gateway.recover_all()), [])
        return one.begun, one.transaction

    def test_killed_after_the_charge_the_next_process_finds_the_payment(self) -> None:
        charged = threading.Event()

        def swallow(exchange: meddling.Exchange) -> None:
            exchange.forward()
            charged.set()
            exchange.gone.wait(100)

        with MeddlingProxy(swallow) as proxy:
            self.killed(proxy.base_url, charged)
        _, found = self.recovered()
        self.assertTrue(found is not None and found.approved)
        self.assertEqual(len(booked(self.reference)), 1)

    def test_killed_before_the_request_arrived_it_is_paid_once_under_the_same_id(self) -> None:
        arrived = threading.Event()

        def lose(exchange: meddling.Exchange) -> None:
            arrived.set()
            exchange.gone.wait(100)

        with MeddlingProxy(lose) as proxy:
            self.killed(proxy.base_url, arrived)
        begun, found = self.recovered()
        self.assertIsNone(found)
        with client(memory=self.memory()) as gateway:
            self.assertTrue(pay(gateway, begun.reference, correlation_id=begun.correlation_id).approved)
        self.assertEqual(len(booked(self.reference)), 1)

    def test_killed_between_the_entry_and_the_request_it_was_not_processed(self) -> None:
        self.killed("nowhere", None)
        self.assertIsNone(self.recovered()[1])

    def test_finished_payments_are_not_recovered_again(self) -> None:
        with client(memory=self.memory()) as gateway:
            pay(gateway, self.reference)
            with self.assertRaises(Refused):
                pay(gateway, order(), currency="ZZZ")
            self.assertEqual(list(gateway.recover_all()), [])

    def test_unknown_outcomes_stay_in_the_memory(self) -> None:
        with MeddlingProxy() as proxy:
            nobody = proxy.base_url
        memory = self.memory()
        with client(nobody, memory=memory, outcome_timeout_seconds=0.5) as gateway:
            with self.assertRaises(OutcomeUnknown):
                pay(gateway, self.reference, correlation_id=self.mine)
            (one,) = gateway.recover_all()
            self.assertIsInstance(one, OutcomeUnknown)
        self.assertEqual([begun.correlation_id for begun in memory.open()], [self.mine])

    def test_payments_in_flight_are_not_recovered(self) -> None:
        seen: list[object] = []
        with client(memory=self.memory()) as gateway:
            pay(gateway, self.reference, before_send=lambda _: seen.append(list(gateway.recover_all())))
        self.assertEqual(seen, [[]])

    def test_an_id_used_by_another_order_is_refused_and_the_others_are_recovered(self) -> None:
        memory = self.memory()
        with client() as gateway:
            pay(gateway, order(), correlation_id=self.mine)
            paid = pay(gateway, order())
        memory.begin(Begun(self.mine, "purchase", 1, self.reference, 1995, "AUD", None, time.time()))
        reference = booked_reference(paid.audit)
        memory.begin(Begun(paid.correlation_id, "purchase", 1, reference, 1995, "AUD", None, time.time()))
        with client(memory=memory) as gateway:
            first, second = gateway.recover_all()
        assert isinstance(first, Refused) and isinstance(second, Recovered)
        self.assertTrue(first.has("correlation_id_already_used"))
        self.assertEqual((second.kind, list(memory.open())), ("decided", []))

    def test_an_old_entry_with_an_empty_search_is_not_treated_as_unpaid(self) -> None:
        """After a day the gateway's search forgets what was paid."""
        memory = self.memory()
        memory.begin(Begun(self.mine, "purchase", 1, self.reference, 1995, "AUD", None, begun_at=1_700_000_000.0))
        with client(memory=memory, request_timeout_seconds=0.1) as gateway:
            (one,) = gateway.recover_all()
        assert isinstance(one, OutcomeUnknown)
        self.assertEqual(one.reason, "too_old")

    def test_a_memory_that_fails_before_sending_stops_the_payment_and_afterwards_does_not_hide_the_outcome(self) -> None:
        class Broken(SqliteMemory):
            def end(self, *_: object) -> None:
                raise OSError

        log, memory = KeptLog(), Broken(self.path)
        with client(memory=memory, observe=log) as gateway:
            self.assertTrue(pay(gateway, self.reference, correlation_id=self.mine).approved)
            self.assertIn("memory_failed", log.kinds())
            memory.close()
            with self.assertRaises(Exception):
                pay(gateway, order())
        self.assertEqual(log.kinds().count("request"), 1)
