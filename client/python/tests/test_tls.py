"""The client over TLS."""

import os
import ssl
import threading
import unittest

from tollgate_client import NothingSent, OutcomeUnknown, Tollgate, Unavailable

from . import meddling_proxy as meddling
from .meddling_proxy import MeddlingProxy
from .scene import booked, client, order, pay

CERTIFICATE = os.environ.get("TOLLGATE_TEST_CERTIFICATE", "")
KEY = os.environ.get("TOLLGATE_TEST_KEY", "")


@unittest.skipUnless(CERTIFICATE, "no certificate was given")
class Tls(unittest.TestCase):
    def setUp(self) -> None:
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(CERTIFICATE, KEY)
        self.trusting = ssl.create_default_context(cafile=CERTIFICATE)
        # The certificates of tests are shorter than newer versions of Python like them.
        self.trusting.verify_flags &= ~ssl.VERIFY_X509_STRICT

    def test_payments_share_a_connection(self) -> None:
        with MeddlingProxy(tls=self.server) as proxy, client(proxy.base_url, tls=self.trusting) as gateway:
            self.assertTrue(pay(gateway, order()).approved)
            self.assertTrue(pay(gateway, order(), cancel=threading.Event()).approved)
            self.assertEqual(len(proxy.connections), 1)

    def test_lost_cut_and_endless_answers_are_recovered(self) -> None:
        faults = [meddling.lose_answer, meddling.cut_answer, meddling.trickle]
        with MeddlingProxy(*faults, tls=self.server) as proxy:
            with client(proxy.base_url, tls=self.trusting, request_timeout_seconds=1.5) as gateway:
                for _ in faults:
                    reference = order()
                    self.assertTrue(pay(gateway, reference, cancel=threading.Event()).recovered)
                    self.assertEqual(len(booked(reference)), 1)

    def test_a_gateway_that_is_not_trusted_gets_nothing(self) -> None:
        with MeddlingProxy(tls=self.server) as proxy, client(proxy.base_url) as gateway:
            with self.assertRaisesRegex(NothingSent, "nothing was sent .*not_trusted: .*certificate") as unsent:
                pay(gateway, order())
            self.assertIsInstance(unsent.exception, OutcomeUnknown)
            self.assertEqual(unsent.exception.reason, "not_trusted")
            self.assertIsInstance(unsent.exception.__cause__, ssl.SSLCertVerificationError)
            with self.assertRaisesRegex(NothingSent, "not_trusted"):
                gateway.customers.create(reference=order(), name="Ada")
            with self.assertRaisesRegex(Unavailable, "not_trusted") as unavailable:
                gateway.transaction(1)
            self.assertIsInstance(unavailable.exception.__cause__, ssl.SSLCertVerificationError)
            self.assertEqual(proxy.seen, [])


class Plain(unittest.TestCase):
    def test_card_numbers_go_over_http_to_this_machine_only(self) -> None:
        for base_url in ("http://gateway.example/v1", "http://127.0.0.1.example/v1", "ftp://127.0.0.1/v1", "gateway"):
            with self.subTest(base_url), self.assertRaises(ValueError):
                Tollgate(base_url, "shop", "secret")
        Tollgate("http://gateway.example/v1", "shop", "secret", allow_plain_http=True)
        Tollgate("http://[::1]:8080/v1", "shop", "secret")
