"""The vault: customers and their tokens. A correlation ID does not make these operations happen once; each recovers in the way that
suits it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from .answers import Customer, Json, Token, read_customer, read_token
from .asking import Asking
from .errors import Refused
from .gateway import payload_of
from .pages import Page, Pages, read_page
from .payment_methods import Account
from .transport import Payload


class _Vault:
    def __init__(self, asking: Asking, merchant_id: int | None) -> None:
        self._asking = asking
        self._merchant_id = merchant_id

    def _vault_of(self, merchant_id: int | None) -> dict[str, object]:
        return {"merchant_id": self._merchant_id if merchant_id is None else merchant_id}


class Customers(_Vault):
    def list(
        self,
        *,
        name: str | None = None,
        reference: str | None = None,
        ordering: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Pages[Customer]:
        """Those whose name and reference have these parts. `limit` is the size of a page, and not of the whole."""
        query = {**self._vault_of(merchant_id), "name": name, "reference": reference, "ordering": ordering, "limit": limit}

        def fetch(onwards: str | None) -> Page[Customer]:
            asked = {**query, "after": onwards or after}
            return self._asking.ask("customers.list", "/customers", read_page(read_customer), query=asked, cancel=cancel)

        return Pages(fetch)

    def create(
        self, *, reference: str, name: str, merchant_id: int | None = None, cancel: threading.Event | None = None
    ) -> Customer:
        """Where a customer has this reference already, that one."""
        body = payload_of({"reference": reference, "name": name})
        query = self._vault_of(merchant_id)
        return self._asking.change(
            "customers.create", "POST", "/customers", read_customer, query=query, body=body, cancel=cancel
        )

    def get(
        self, customer_id: int, *, merchant_id: int | None = None, cancel: threading.Event | None = None
    ) -> Customer:
        query = self._vault_of(merchant_id)
        return self._asking.ask("customers.get", _customer(customer_id), read_customer, query=query, cancel=cancel)

    def update(
        self,
        customer_id: int,
        *,
        reference: str | None = None,
        name: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Customer:
        body = _given({"reference": reference, "name": name})
        path, query = _customer(customer_id), self._vault_of(merchant_id)
        return self._asking.change(
            "customers.update", "PATCH", path, read_customer, query=query, body=body, cancel=cancel
        )

    def delete(
        self, customer_id: int, *, merchant_id: int | None = None, cancel: threading.Event | None = None
    ) -> None:
        """With its tokens."""
        path, query = _customer(customer_id), self._vault_of(merchant_id)
        self._asking.change(
            "customers.delete", "DELETE", path, _nothing, query=query, settled=_gone, cancel=cancel
        )


class Tokens(_Vault):
    def list(
        self,
        customer_id: int,
        *,
        limit: int | None = None,
        after: str | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Pages[Token]:
        query = {**self._vault_of(merchant_id), "limit": limit}

        def fetch(onwards: str | None) -> Page[Token]:
            asked = {**query, "after": onwards or after}
            path = _customer(customer_id) + "/tokens"
            return self._asking.ask("tokens.list", path, read_page(read_token), query=asked, cancel=cancel)

        return Pages(fetch)

    def create(
        self,
        customer_id: int,
        *,
        preferred_name: str,
        account: Account,
        active: bool = True,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Token:
        """After a lost answer it is looked for by its name, which no other token of the customer can have."""

        def stored(refused: Refused) -> Token | None:
            """As far as a masked account shows it, the one that was sent, and not an older one of the same name."""
            if not refused.has("preferred_name_in_use"):
                return None
            for token in self.list(customer_id, merchant_id=merchant_id, cancel=cancel):
                if token.preferred_name == preferred_name and token.active == active and account.is_shown_as(token.account):
                    return token
            return None

        body = payload_of({"preferred_name": preferred_name, "active": active, "account": account.in_token()})
        path, query = _customer(customer_id) + "/tokens", self._vault_of(merchant_id)
        return self._asking.change(
            "tokens.create", "POST", path, read_token, query=query, body=body, settled=stored, cancel=cancel
        )

    def get(
        self,
        customer_id: int,
        token_id: int,
        *,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Token:
        path, query = _token(customer_id, token_id), self._vault_of(merchant_id)
        return self._asking.ask("tokens.get", path, read_token, query=query, cancel=cancel)

    def update(
        self,
        customer_id: int,
        token_id: int,
        *,
        preferred_name: str | None = None,
        active: bool | None = None,
        account: Account | None = None,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Token:
        stored = None if account is None else account.in_token()
        body = _given({"preferred_name": preferred_name, "active": active, "account": stored})
        path, query = _token(customer_id, token_id), self._vault_of(merchant_id)
        return self._asking.change("tokens.update", "PATCH", path, read_token, query=query, body=body, cancel=cancel)

    def delete(
        self,
        customer_id: int,
        token_id: int,
        *,
        merchant_id: int | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        path, query = _token(customer_id, token_id), self._vault_of(merchant_id)
        self._asking.change("tokens.delete", "DELETE", path, _nothing, query=query, settled=_gone, cancel=cancel)


def _customer(customer_id: int) -> str:
    return f"/customers/{customer_id:d}"


def _token(customer_id: int, token_id: int) -> str:
    return f"/customers/{customer_id:d}/tokens/{token_id:d}"


def _given(members: Mapping[str, object]) -> Payload:
    return payload_of({name: value for name, value in members.items() if value is not None})


def _nothing(_: Json) -> bool:
    return True


def _gone(refused: Refused) -> bool | None:
    """After a lost answer, what is not there was deleted by the request whose answer was lost."""
    return True if refused.has("customer_not_found") or refused.has("token_not_found") else None
