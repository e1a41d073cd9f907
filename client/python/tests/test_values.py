"""Values that a later gateway may answer, and answers that are none."""

import copy
import unittest

from tollgate_client import Outcome, TransactionType
from tollgate_client.answers import Unreadable, read_token, read_transaction

ANSWER = {
    "audit": 17,
    "gateway_timestamp": "2026-11-15T11:07:18.123+11:00",
    "merchant": {"id": 1, "later": True},
    "kvps": {"GATEWAY.RESPONSE.KVP.MODE": "test"},
    "status": {
        "gateway_status_code": 0,
        "gateway_status_message": "Processed",
        "transaction_status_code": "approved",
        "acquirer": {"response_code": "00", "later": {}},
    },
    "_links": {"self": {"href": "/v1/transactions/17"}, "later": {"href": "/v1/later"}},
    "later": [1, None],
}


def answer(**status: object) -> dict[str, object]:
    changed = copy.deepcopy(ANSWER)
    changed["status"].update(status)  # type: ignore[attr-defined]
    return changed


class Values(unittest.TestCase):
    def test_a_value_as_text_is_the_word_of_the_interface(self) -> None:
        for word in (*Outcome, *TransactionType):
            self.assertEqual((str(word), f"{word}", "{:>4}".format(word)), (word.value, word.value, word.value))

    def test_unrecognised_statuses_are_unknown(self) -> None:
        for status in ("Unknown", "unknown", "later_value", ""):
            self.assertFalse(read_transaction(answer(transaction_status_code=status)).known, status)
        for outcome in Outcome:
            self.assertEqual(read_transaction(answer(transaction_status_code=outcome.value)).outcome, outcome)
        self.assertEqual(read_transaction(answer(transaction_status_code="reversed")).outcome, Outcome.VOIDED)

    def test_unrecognised_gateway_codes_are_99(self) -> None:
        codes = [read_transaction(answer(gateway_status_code=code)).status.gateway_status_code for code in (0, 3, 77, -99)]
        self.assertEqual(codes, [0, 3, -99, -99])

    def test_unrecognised_members_are_kept(self) -> None:
        read = read_transaction(answer())
        self.assertEqual((read.audit, read.links["later"], read.raw["later"]), (17, "/v1/later", [1, None]))

    def test_other_json_is_not_read_as_a_transaction(self) -> None:
        for wrong in (None, [], "approved", {}, {**ANSWER, "audit": "17"}, {**ANSWER, "status": None}, {**ANSWER, "audit": True}):
            with self.subTest(wrong), self.assertRaises(Unreadable):
                read_transaction(wrong)

    def test_a_token_may_have_its_id_as_text(self) -> None:
        token = {"id": "9", "virtual_pan": "9217664744023758", "preferred_name": "A", "active": True, "account": {}}
        self.assertEqual(read_token(token).id, 9)
        with self.assertRaises(Unreadable):
            read_token({**token, "id": "x"})
