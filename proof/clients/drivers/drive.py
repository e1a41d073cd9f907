"""Drives the gateway with the client that openapi-python-client generated."""
import base64
import sys
import uuid

from tollgate_client import AuthenticatedClient
from tollgate_client.api.customers import delete_customer, find_or_create_customer
from tollgate_client.api.tokens import create_token, list_tokens
from tollgate_client.api.transactions import (
    create_purchase,
    create_refund,
    look_up_transaction,
    search_transactions,
    void_transaction,
)
from tollgate_client.models import (
    AmountDetails,
    AmountRequest,
    AmountRequestTransaction,
    Bankaccount,
    BankaccountPaymentMethod,
    Creditcard,
    CreditcardPaymentMethod,
    Errors,
    GeneralBankaccount,
    GeneralBankaccountAccount,
    GeneralCreditcard,
    GeneralCreditcardAccount,
    MaskedBankaccountPaymentMethod,
    MaskedCreditcardPaymentMethod,
    MaskedGeneralCreditcardAccount,
    Merchant,
    NewCustomer,
    NewToken,
    PaymentRequest,
    PaymentRequestTransaction,
    RequestKvps,
    VoidRequest,
    VoidRequestTransaction,
)


def fresh() -> str:
    return str(uuid.uuid4())


def equal(actual, expected) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def trade(base_url: str, username: str, password: str, merchant_id: int, later: bool) -> None:
    """A later gateway answers with values and members that this client has never heard of."""
    secret = base64.b64encode(f"{username}:{password}".encode()).decode()
    client = AuthenticatedClient(base_url=base_url, token=secret, prefix="Basic")
    merchant = Merchant(id=merchant_id)

    def known(value: str) -> str:
        return "later_value" if later else value

    def pay(method, correlation_id: str):
        kvps = RequestKvps()
        kvps["order_number"] = "1001"
        amount = AmountDetails(total_amount="10000", currency="AUD")
        transaction = PaymentRequestTransaction(
            reference="order-1", amount_details=amount, payment_method=method
        )
        body = PaymentRequest(merchant=merchant, transaction=transaction, kvps=kvps)
        answer = create_purchase.sync_detailed(client=client, body=body, x_correlation_id=correlation_id)
        equal(answer.status_code, 201)
        equal(answer.headers["x-correlation-id"], correlation_id)
        return answer.parsed

    def look_up(audit: int):
        return look_up_transaction.sync(audit, client=client)

    def card(pan: str):
        return CreditcardPaymentMethod(creditcard=Creditcard(pan=pan, expiry_date="1239", cvv="123"))

    correlation_id = fresh()
    purchase = pay(card("4111111111111111"), correlation_id)
    equal(purchase.status.transaction_status_code, known("approved"))
    equal(purchase.kvps["GATEWAY.REQUEST.KVP.order_number"], "1001")

    shown = look_up(purchase.audit).transaction
    equal(shown.transaction_type, known("purchase"))
    equal(type(shown.payment_method), MaskedCreditcardPaymentMethod)
    equal(shown.payment_method.creditcard.pan, "411111******1111")
    equal(shown.payment_method.creditcard.type_, known("visa"))

    def search(sought: str):
        return search_transactions.sync(
            client=client, merchant_id=merchant_id, correlation_id_lookup=sought
        ).results

    equal([each.audit for each in search(correlation_id)], [purchase.audit])
    equal(search(fresh()), [])

    def refund(total: str):
        amount = AmountDetails(total_amount=total, currency="AUD")
        transaction = AmountRequestTransaction(reference="order-1", amount_details=amount)
        body = AmountRequest(merchant=merchant, transaction=transaction)
        return create_refund.sync(purchase.audit, client=client, body=body, x_correlation_id=fresh())

    refunded = refund("2500")
    equal(refunded.status.transaction_status_code, known("approved"))
    equal(look_up(refunded.audit).transaction.target_audit, purchase.audit)
    refused = refund("9999999")
    equal(type(refused), Errors)
    equal(refused.errors[0].error_code, known("refund_exceeds_original"))

    second = pay(card("4111111111111111"), fresh())
    body = VoidRequest(merchant=merchant, transaction=VoidRequestTransaction(reference="order-2"))
    voided = void_transaction.sync(second.audit, client=client, body=body, x_correlation_id=fresh())
    equal(voided.status.transaction_status_code, known("approved"))
    equal(look_up(second.audit).status.transaction_status_code, known("voided"))

    account = Bankaccount(bsb="062-000", account_number="123456789", account_name="A Customer")
    debit = pay(BankaccountPaymentMethod(bankaccount=account), fresh())
    equal(debit.status.transaction_status_code, known("pending"))
    method = look_up(debit.audit).transaction.payment_method
    equal(type(method), MaskedBankaccountPaymentMethod)
    equal(method.bankaccount.account_number, "******789")

    customer = find_or_create_customer.sync(
        client=client, body=NewCustomer(reference=fresh(), name="Ada Lovelace"), x_correlation_id=fresh()
    )

    def tokenise(preferred_name: str, stored):
        body = NewToken(preferred_name=preferred_name, active=True, account=stored)
        return create_token.sync(customer.id, client=client, body=body, x_correlation_id=fresh())

    creditcard = GeneralCreditcard(
        card_pan="4111111111111111", card_expiry="1239", card_name="Ada Lovelace"
    )
    token = tokenise("Card", GeneralCreditcardAccount(general_creditcard=creditcard))
    equal(type(token.account), MaskedGeneralCreditcardAccount)
    equal(token.account.general_creditcard.card_pan, "411111******1111")
    equal(token.account.general_creditcard.card_type, known("visa"))
    bankaccount = GeneralBankaccount(
        bank_bsb="062-000", bank_account_number="123456789", bank_account_name="A Customer"
    )
    tokenise("Account", GeneralBankaccountAccount(general_bankaccount=bankaccount))
    equal(len(list_tokens.sync(customer.id, client=client).results), 2)
    paid = pay(CreditcardPaymentMethod(creditcard=Creditcard(pan=token.virtual_pan)), fresh())
    equal(paid.status.transaction_status_code, known("approved"))
    removal = delete_customer.sync_detailed(customer.id, client=client, x_correlation_id=fresh())
    equal(removal.status_code, 204)


if __name__ == "__main__":
    user, secret_text, merchant_text, now_url, later_url = sys.argv[1:]
    trade(now_url, user, secret_text, int(merchant_text), later=False)
    trade(later_url, user, secret_text, int(merchant_text), later=True)
