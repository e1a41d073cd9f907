"""Every operation, as the gateway answers it."""

import unittest
import uuid

from tollgate_client import BankAccount, Begun, Card, Credential, Outcome, Refused

from .scene import MERCHANT, booked, card, client, order, pay

PAN = "4111111111111111"
DECLINED = "4100000000000050"
ANSWER_LOST = "4200000000000034"
REQUEST_LOST = "4200000000000026"


class Payments(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = client()
        self.addCleanup(self.gateway.close)

    def test_a_purchase_is_approved(self) -> None:
        reference = order()
        payment = pay(self.gateway, reference, kvps={"order_number": "1001"})
        self.assertTrue(payment.approved)
        self.assertEqual(payment.kvps["GATEWAY.REQUEST.KVP.order_number"], "1001")
        shown = self.gateway.transaction(payment.audit)
        assert shown.transaction is not None
        self.assertEqual(shown.transaction.reference, reference)
        self.assertEqual(shown.transaction.amount_details.total_amount, 1995)
        self.assertIn("refund", shown.links)

    def test_a_declined_purchase_is_an_outcome_not_an_error(self) -> None:
        payment = pay(self.gateway, order(), DECLINED)
        self.assertEqual(payment.outcome, Outcome.DECLINED)
        self.assertEqual(payment.status.acquirer.response_code, "05")

    def test_an_answer_lost_by_the_acquirer_is_awaited(self) -> None:
        reference = order()
        self.assertEqual(pay(self.gateway, reference, ANSWER_LOST).outcome, Outcome.APPROVED)
        self.assertEqual(len(booked(reference)), 1)
        lost = pay(self.gateway, order(), REQUEST_LOST)
        self.assertEqual((lost.outcome, lost.status.gateway_status_code), (Outcome.ERROR, 2))

    def test_a_preauthorisation_is_completed_and_refunded_and_the_refund_is_voided(self) -> None:
        reference, amount = order(), {"currency": "AUD"}
        held = self.gateway.preauthorisation(
            reference=reference, amount_cents=5000, currency="AUD", payment_method=card()
        )
        completed = self.gateway.completion(held.audit, reference=reference, amount_cents=4000, **amount)
        refunded = self.gateway.refund(completed.audit, reference=reference, amount_cents=1000, **amount)
        voided = self.gateway.void(refunded.audit, reference=reference)
        self.assertEqual([each.approved for each in (held, completed, refunded, voided)], [True] * 4)
        self.assertEqual(self.gateway.transaction(refunded.audit).outcome, Outcome.VOIDED)
        details = self.gateway.transaction(voided.audit).transaction
        self.assertEqual(details and details.target_audit, refunded.audit)

    def test_a_payment_by_agreement_and_the_result_of_a_check(self) -> None:
        check = {"version": "2.2.0", "eci": "05", "status": "Y"}
        begun = Credential("recurring", "initial")
        amount = {"amount_cents": 100, "currency": "AUD"}
        first = self.gateway.purchase(
            reference=order(), payment_method=Card(PAN, "1239", "123", check), credential=begun, **amount
        )
        known = self.gateway.transaction(first.audit).status.acquirer.network_transaction_id
        agreed = Credential("recurring", "subsequent", "merchant", known)
        again = self.gateway.purchase(
            reference=order(), payment_method=Card(PAN, "1239"), credential=agreed, **amount
        )
        self.assertTrue(known and first.approved and again.approved)

    def test_a_standalone_refund_and_a_direct_debit(self) -> None:
        account = BankAccount("062-000", "123456789", "A Customer")
        refund = self.gateway.standalone_refund(
            reference=order(), amount_cents=100, currency="AUD", payment_method=account
        )
        self.assertEqual(refund.outcome, Outcome.PENDING)
        debit = self.gateway.purchase(
            reference=order(), amount_cents=100, currency="AUD", payment_method=account
        )
        details = self.gateway.transaction(debit.audit).transaction
        self.assertEqual(details and details.directdebit_mode, "debit")

    def test_the_correlation_id_is_made_before_anything_is_sent_and_handed_over(self) -> None:
        given: list[str] = []

        def store(begun: Begun) -> None:
            self.assertIsNone(self.gateway.search(begun.correlation_id))
            given.append(begun.correlation_id)

        payment = pay(self.gateway, order(), before_send=store)
        found = self.gateway.search(given[0])
        self.assertEqual(found and found.audit, payment.audit)
        self.assertEqual((payment.correlation_id, payment.recovered), (given[0], False))

    def test_nothing_is_sent_if_the_correlation_id_cannot_be_stored(self) -> None:
        mine = str(uuid.uuid4())

        def full_disk(_: Begun) -> None:
            raise OSError("no room")

        with self.assertRaisesRegex(OSError, "no room"):
            pay(self.gateway, order(), correlation_id=mine, before_send=full_disk)
        self.assertIsNone(self.gateway.search(mine))

    def test_a_refusal_names_every_problem_and_leaves_the_correlation_id_unused(self) -> None:
        mine, reference = str(uuid.uuid4()), order()
        with self.assertRaises(Refused) as refused:
            pay(self.gateway, reference, "4111111111111112", currency="ZZZ", correlation_id=mine)
        self.assertEqual(refused.exception.status, 422)
        self.assertEqual(
            {problem.error_code for problem in refused.exception.problems}, {"card_number_invalid", "currency_unknown"}
        )
        self.assertIn(("body", "transaction", "amount_details", "currency"), [p.location for p in refused.exception.problems])
        self.assertEqual(refused.exception.correlation_id, mine)
        self.assertTrue(pay(self.gateway, reference, correlation_id=mine).approved)

    def test_the_same_order_under_the_same_id_again_is_the_same_transaction(self) -> None:
        mine, reference = str(uuid.uuid4()), order()
        first = pay(self.gateway, reference, correlation_id=mine)
        again = pay(self.gateway, reference, correlation_id=mine)
        self.assertEqual(again.audit, first.audit)
        self.assertEqual(len(booked(reference)), 1)

    def test_another_order_under_a_used_id_is_refused_and_not_reported_as_paid(self) -> None:
        mine = str(uuid.uuid4())
        paid = pay(self.gateway, order(), correlation_id=mine)
        for other in ({}, {"amount_cents": 2000}):
            with self.assertRaises(Refused) as refused:
                pay(self.gateway, order(), correlation_id=mine, **other)
            self.assertEqual(refused.exception.status, 409)
            self.assertTrue(refused.exception.has("correlation_id_already_used"))
            self.assertEqual(refused.exception.holder, paid.audit)

    def test_wrong_credentials_and_foreign_merchants_are_refused_at_once(self) -> None:
        with client(password="wrong") as stranger, self.assertRaises(Refused) as wrong:
            pay(stranger, order())
        self.assertEqual(wrong.exception.status, 401)
        with self.assertRaises(Refused) as strange:
            pay(self.gateway, order(), merchant_id=MERCHANT + 3)
        self.assertTrue(strange.exception.has("merchant_not_permitted"))

    def test_invalid_requests_are_not_sent(self) -> None:
        for wrong in ({"amount_cents": 19.95}, {"amount_cents": True}, {"amount_cents": 0}, {"correlation_id": "a b"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                pay(self.gateway, order(), **wrong)
