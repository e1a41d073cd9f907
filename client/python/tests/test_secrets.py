"""Card numbers, CVVs and the password: in no log, no exception and no representation, whatever the other side answers."""

import base64
import pickle
import re
import traceback
import unittest
from typing import Any

from tollgate_client import BankAccount, Card, CardToStore, OutcomeUnknown, TollgateError
from tollgate_client.gateway import payload_of

from . import meddling_proxy as meddling
from .meddling_proxy import MeddlingProxy
from .scene import CVV, PAN, PASSWORD, USERNAME, KeptLog, client, order, pay

SECRETS = (PAN, PASSWORD)
# Only as a value of its own: three digits stand by chance in any correlation ID, port or fraction of a second.
SHOWN_CVV = re.compile(f"(?<![0-9A-Za-z.]){CVV}(?![0-9A-Za-z])")


class Secrets(unittest.TestCase):
    def assert_none_in(self, *texts: str) -> None:
        for text in texts:
            for secret in SECRETS:
                self.assertNotIn(secret, text)
            self.assertNotRegex(text, SHOWN_CVV)

    def of(self, error: BaseException) -> list[str]:
        """Everything that somebody could print of an exception, with the variables of every function that it went through."""
        whole = traceback.TracebackException.from_exception(error, capture_locals=True)
        inside = [
            line
            for frame in whole.stack
            if "tollgate_client" in frame.filename
            for line in (frame.locals or {}).values()
        ]
        return [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error)), *inside]

    def test_nothing_shows_a_card(self) -> None:
        with client() as gateway:
            payment = pay(gateway, order())
            self.assert_none_in(repr(gateway), str(gateway), repr(payment), str(payment), repr(payment.raw))
        shown: list[Any] = [Card(PAN, "1239", CVV), CardToStore(PAN, "1239", "A"), payload_of({"pan": PAN})]
        self.assert_none_in(*map(repr, shown), *map(str, shown), f"{shown}")
        self.assertNotIn("123456789", repr(BankAccount("062-000", "123456789", "A Customer")))

    def test_no_object_of_a_client_shows_the_password(self) -> None:
        encoded = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
        with client() as gateway:
            seen: list[object] = [gateway]
            for one in seen:
                for text in (repr(one), str(one), f"{one}"):
                    self.assertNotIn(PASSWORD, text)
                    self.assertNotIn(encoded, text)
                if type(one).__module__.startswith("tollgate_client"):
                    below = [each for each in vars(one).values() if hasattr(each, "__dict__")]
                    seen.extend(each for each in below if not any(each is known for known in seen))
            self.assertGreater(len(seen), 5)

    def test_no_exception_shows_a_card_even_if_the_answer_repeats_it(self) -> None:
        with MeddlingProxy(meddling.repeats_the_body) as proxy, client(proxy.base_url) as gateway:
            with self.assertRaises(TollgateError) as refused:
                pay(gateway, order(), kvps={"note": "x"})
        self.assertNotIn(PAN, "".join(self.of(refused.exception)))

    def test_a_card_number_in_the_wrong_field_is_not_stored_or_repeated(self) -> None:
        told: list[object] = []
        spaced = " ".join(PAN[start : start + 4] for start in range(0, 16, 4))
        for wrong in ({"reference": f"order {spaced}"}, {"reference": order(), "correlation_id": f"a-{PAN}"}):
            with client(observe=told.append, before_send=told.append) as gateway:
                with self.assertRaises(ValueError) as refused:
                    pay(gateway, **wrong)
            self.assertNotIn(PAN, str(refused.exception))
        self.assertEqual(told, [])

    def test_no_exception_and_no_log_shows_a_card_or_the_password_after_a_lost_answer(self) -> None:
        log = KeptLog()
        faults = [meddling.lose_answer, meddling.garbage, meddling.page_of_a_proxy, meddling.cut_answer]
        for fault in faults:
            with MeddlingProxy(for_ever=fault) as proxy:
                with client(proxy.base_url, observe=log, request_timeout_seconds=0.3) as gateway:
                    with self.assertRaises(OutcomeUnknown) as unknown:
                        pay(gateway, order(), outcome_timeout_seconds=1.5)
            self.assert_none_in(*self.of(unknown.exception))
        self.assertIn("no_answer", log.kinds())
        self.assert_none_in(repr(log.lines))

    def test_a_client_is_not_written_to_disk_with_its_password(self) -> None:
        with client() as gateway, self.assertRaises(TypeError):
            pickle.dumps(gateway)
