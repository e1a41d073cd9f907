"""A connection to a host, at whichever of its addresses somebody listens, within one limit for all of them."""

from __future__ import annotations

import errno
import selectors
import socket

from .limit import Cancelled, Limit

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class NotSent(Exception):
    """There was no connection: not a byte of the request has left."""

    def __init__(self, reason: str = "not_connected") -> None:
        super().__init__(reason)
        self.reason = reason


def connected_socket(host: str, port: int, limit: Limit) -> socket.socket:
    if limit.left() == 0:
        raise NotSent("timeout")
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise NotSent from None
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # An address at which nobody answers leaves the others their share.
        share = limit.within(limit.left() / (len(addresses) - index))
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, address, share)
            return sock
        except OSError:
            sock.close()
        except Cancelled:
            sock.close()
            raise
    raise NotSent


def _connect(sock: socket.socket, address: object, limit: Limit) -> None:
    sock.setblocking(False)
    started = sock.connect_ex(address)  # type: ignore[arg-type]
    if started not in _UNDER_WAY:
        raise OSError(started, "no connection")
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while not selector.select(limit.turn()):
            pass
    failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if failed:
        raise OSError(failed, "no connection")
