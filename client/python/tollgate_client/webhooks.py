"""Whether a webhook is the gateway's, by the rules of Standard Webhooks 1.0.0."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping

from .answers import Event, Unreadable, read_event
from .errors import WebhookRejected

#: How far the sender's clock may be away from ours, either way.
TOLERANCE_SECONDS = 300
_SECONDS = re.compile("[0-9]{1,12}")


def verify_webhook(
    *,
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> Event:
    """The event in a webhook, if it is to be believed; otherwise raises `WebhookRejected`.

    `body` is what came, byte for byte: parsed and written again, it is another text. `secret` is what `tollgate webhook add` has printed, or
    several while one takes the place of another. The same event may come twice: know it by its `id`.
    """
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError("body must be the bytes that came")
    lower = {name.lower(): text for name, text in headers.items()}
    message_id = lower.get("webhook-id", "")
    timestamp = lower.get("webhook-timestamp", "")
    signatures = lower.get("webhook-signature", "")
    if not message_id or not signatures or not _SECONDS.fullmatch(timestamp):
        raise WebhookRejected("header_missing")
    age_seconds = time.time() - int(timestamp)
    if age_seconds > tolerance_seconds:
        raise WebhookRejected("too_old")
    if age_seconds < -tolerance_seconds:
        raise WebhookRejected("too_new")
    signed = f"{message_id}.{timestamp}.".encode() + bytes(body)
    expected = [_signature(each, signed) for each in ([secret] if isinstance(secret, str) else secret)]
    given = [signature.encode() for signature in signatures.split(" ")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        raise WebhookRejected("wrong_signature")
    try:
        event = read_event(json.loads(body))
    except (ValueError, RecursionError, Unreadable):
        raise WebhookRejected("not_an_event") from None
    if event.id != message_id:
        raise WebhookRejected("not_an_event")
    return event


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("a webhook's secret is whsec_ and base64") from None
    if not key:
        raise ValueError("a webhook's secret is whsec_ and base64")
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
