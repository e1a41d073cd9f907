"""A connection to a host, at whichever of its addresses somebody listens, within one limit for all of them."""

from __future__ import annotations

import errno
import os
import selectors
import socket

from .limit import Cancelled, Limit

NOT_TRUSTED = "not_trusted"
_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class NotSent(Exception):
    """There was no connection: not a byte of the request has left."""

    def __init__(self, reason: str = "not_connected") -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def not_trusted(self) -> bool:
        """It was the certificate."""
        return self.reason.startswith(NOT_TRUSTED)


def connected_socket(host: str, port: int, limit: Limit) -> socket.socket:
    if limit.left() == 0:
        raise NotSent("timeout")
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotSent from error
    failure: OSError | None = None
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # An address at which nobody answers leaves the others their share.
        share = limit.within(limit.left() / (len(addresses) - index))
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, address, share)
            return sock
        except OSError as error:
            failure = error
            sock.close()
        except Cancelled:
            sock.close()
            raise
    raise NotSent from failure


def _connect(sock: socket.socket, address: object, limit: Limit) -> None:
    sock.setblocking(False)
    started = sock.connect_ex(address)  # type: ignore[arg-type]
    if started not in _UNDER_WAY:
        raise OSError(started, os.strerror(started))
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while not selector.select(limit.turn()):
            pass
    failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if failed:
        raise OSError(failed, os.strerror(failed))
