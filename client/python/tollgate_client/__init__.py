"""The Python client of the Tollgate payment gateway.

    gateway = Tollgate("https://gateway.example/v1", "shop", password, merchant_id=1)
    payment = gateway.purchase(reference="order-1001", amount_cents=1995, currency="AUD", payment_method=card)
"""

from .answers import (
    AcquirerStatus,
    AmountDetails,
    Checkout,
    Created,
    Customer,
    Event,
    Outcome,
    Schedule,
    Status,
    Token,
    Transaction,
    TransactionDetails,
    TransactionType,
)
from .client import Recovered, Tollgate
from .errors import (
    Cancelled,
    NothingSent,
    OrganisationMoved,
    OutcomeUnknown,
    Problem,
    Refused,
    TollgateError,
    Unavailable,
    WebhookRejected,
)
from .memory import Begun, Ending, Memory
from .observed import Observed
from .pages import Page, Pages
from .payment_methods import BankAccount, Card, CardToStore, Credential
from .settlement import COLUMNS, Settlement, SettlementLine, SettlementNet, rows, write_csv
from .webhooks import verify_webhook

__all__ = [
    "AcquirerStatus",
    "AmountDetails",
    "BankAccount",
    "Begun",
    "Cancelled",
    "Card",
    "CardToStore",
    "Checkout",
    "COLUMNS",
    "Created",
    "Credential",
    "Customer",
    "Ending",
    "Event",
    "Memory",
    "NothingSent",
    "Observed",
    "OrganisationMoved",
    "Outcome",
    "OutcomeUnknown",
    "Page",
    "Pages",
    "Problem",
    "Recovered",
    "Refused",
    "rows",
    "Schedule",
    "Settlement",
    "SettlementLine",
    "SettlementNet",
    "Status",
    "Token",
    "Tollgate",
    "TollgateError",
    "Transaction",
    "TransactionDetails",
    "TransactionType",
    "Unavailable",
    "verify_webhook",
    "WebhookRejected",
    "write_csv",
]
