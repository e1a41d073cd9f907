"""Webhooks that the gateway has signed, and others."""

import base64
import hashlib
import hmac
import json
import os
import time
import unittest
from pathlib import Path

from tollgate_client import Event, Tollgate, WebhookRejected, verify_webhook

SECRET = "whsec_" + base64.b64encode(b"0" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"1" * 32).decode()
BODY = json.dumps(
    {"id": "evt_1", "type": "transaction.approved", "created": "now", "merchant": {"id": 1}, "version": 1, "data": {}}
).encode()


def signed(secret: str = SECRET, body: bytes = BODY, at: float | None = None, name: str = "evt_1") -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "Webhook-Id": name,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


class Webhooks(unittest.TestCase):
    @unittest.skipUnless("TOLLGATE_TEST_WEBHOOK" in os.environ, "no webhook of a gateway was given")
    def test_webhooks_signed_by_the_gateway_are_accepted(self) -> None:
        given = json.loads(Path(os.environ["TOLLGATE_TEST_WEBHOOK"]).read_text())
        event = Tollgate.verify_webhook(secret=given["secret"], headers=given["headers"], body=given["body"].encode())
        self.assertIsInstance(event, Event)
        self.assertEqual((event.type, event.id), ("transaction.approved", given["headers"]["webhook-id"]))
        with self.assertRaises(WebhookRejected):
            verify_webhook(secret=OTHER, headers=given["headers"], body=given["body"].encode())

    def test_a_valid_signature_is_accepted(self) -> None:
        self.assertEqual(verify_webhook(secret=SECRET, headers=signed(), body=BODY).id, "evt_1")

    def test_while_a_secret_is_rotated_both_are_accepted(self) -> None:
        self.assertEqual(verify_webhook(secret=[OTHER, SECRET], headers=signed(), body=BODY).version, 1)
        both = {**signed(), "webhook-signature": signed(OTHER)["webhook-signature"] + " " + signed()["webhook-signature"]}
        self.assertEqual(verify_webhook(secret=SECRET, headers=both, body=BODY).version, 1)

    def test_forged_webhooks_are_rejected(self) -> None:
        forged = {
            "with another secret": (signed(OTHER), BODY),
            "with another body": (signed(), BODY.replace(b"approved", b"declined")),
            "with another id": ({**signed(), "Webhook-Id": "evt_2"}, BODY),
            "with another time": ({**signed(), "webhook-timestamp": str(int(time.time()) - 10)}, BODY),
            "without a signature": ({**signed(), "webhook-signature": ""}, BODY),
            "with another version of signatures": (
                {**signed(), "webhook-signature": signed()["webhook-signature"].replace("v1", "v2")},
                BODY,
            ),
            "with a signature of no use": ({**signed(), "webhook-signature": "v1,é"}, BODY),
            "without a time": ({"Webhook-Id": "evt_1", "webhook-signature": "v1,"}, BODY),
            "with a time that is none": ({**signed(), "webhook-timestamp": "²"}, BODY),
            "for another event": (signed(name="evt_2"), BODY),
            "without an event": (signed(body=b"[]"), b"[]"),
        }
        for name, (headers, body) in forged.items():
            with self.subTest(name), self.assertRaises(WebhookRejected):
                verify_webhook(secret=SECRET, headers=headers, body=body)

    def test_old_and_future_timestamps_are_rejected(self) -> None:
        for away, reason in ((-310, "too_old"), (400, "too_new")):
            with self.subTest(away), self.assertRaises(WebhookRejected) as rejected:
                verify_webhook(secret=SECRET, headers=signed(at=time.time() + away), body=BODY)
            self.assertEqual(rejected.exception.reason, reason)
        recent = signed(at=time.time() - 200)
        self.assertEqual(verify_webhook(secret=SECRET, headers=recent, body=BODY).id, "evt_1")

    def test_an_invalid_secret_is_the_callers_error(self) -> None:
        for secret in ("", "whsec_", "whsec_!"):
            with self.subTest(secret), self.assertRaises(ValueError):
                verify_webhook(secret=secret, headers=signed(), body=BODY)
