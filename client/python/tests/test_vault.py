"""Customers and tokens, with lost answers too."""

import unittest

from tollgate_client import BankAccount, Card, CardToStore, Refused

from . import meddling_proxy as meddling
from .meddling_proxy import MeddlingProxy
from .scene import PAN, client, order


class Vault(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = client()
        self.addCleanup(self.gateway.close)
        self.reference = order()[:50]
        self.customer = self.gateway.customers.create(reference=self.reference, name="Ada Lovelace")

    def test_a_customer_is_found_changed_and_deleted(self) -> None:
        customers = self.gateway.customers
        self.assertEqual(customers.create(reference=self.reference, name="Other").name, "Ada Lovelace")
        self.assertEqual(customers.update(self.customer.id, name="Ada King").name, "Ada King")
        self.assertEqual([each.name for each in customers.list(reference=self.reference)], ["Ada King"])
        customers.delete(self.customer.id)
        with self.assertRaises(Refused) as gone:
            customers.get(self.customer.id)
        self.assertTrue(gone.exception.has("customer_not_found"))
        with self.assertRaises(Refused):
            customers.delete(self.customer.id)

    def test_tokens_pay_by_their_virtual_pan(self) -> None:
        tokens, owner = self.gateway.tokens, self.customer.id
        stored = tokens.create(owner, preferred_name="Card", account=CardToStore(PAN, "1239", "Ada Lovelace"))
        tokens.create(owner, preferred_name="Bank", account=BankAccount("062-000", "123456789", "A Customer"))
        payment = self.gateway.purchase(
            reference=order(), amount_cents=100, currency="AUD", payment_method=Card(stored.virtual_pan)
        )
        self.assertTrue(payment.approved)
        # In pages of one.
        self.assertEqual([each.preferred_name for each in tokens.list(owner, limit=1)], ["Card", "Bank"])
        self.assertFalse(tokens.update(owner, stored.id, active=False).active)
        tokens.delete(owner, stored.id)
        self.assertEqual([each.preferred_name for each in tokens.list(owner)], ["Bank"])

    def test_requests_with_lost_answers_are_repeated_and_nothing_is_created_twice(self) -> None:
        account = CardToStore(PAN, "1239", "Ada Lovelace")
        reference = order()[:50]
        with MeddlingProxy(meddling.lose_answer, meddling.lose_answer) as proxy, client(proxy.base_url) as gateway:
            customer = gateway.customers.create(reference=reference, name="Ada Lovelace")
            token = gateway.tokens.create(customer.id, preferred_name="Card", account=account)
            self.assertEqual(len(proxy.sent("POST")), 4)
        self.assertEqual([each.id for each in self.gateway.tokens.list(customer.id)], [token.id])
        with MeddlingProxy(meddling.lose_answer, method="DELETE") as proxy, client(proxy.base_url) as gateway:
            gateway.tokens.delete(customer.id, token.id)
        self.assertEqual(list(self.gateway.tokens.list(customer.id)), [])

    def test_a_name_used_by_another_card_is_not_mistaken_for_the_new_one(self) -> None:
        self.gateway.tokens.create(
            self.customer.id, preferred_name="Card", account=CardToStore("5555555555554444", "1239", "Ada")
        )
        with MeddlingProxy(meddling.lose_answer) as proxy, client(proxy.base_url) as gateway:
            with self.assertRaises(Refused) as refused:
                gateway.tokens.create(self.customer.id, preferred_name="Card", account=CardToStore(PAN, "1239", "Ada"))
        self.assertTrue(refused.exception.has("preferred_name_in_use"))
