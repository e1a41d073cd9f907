"""HTTP to the gateway: connections that are used again, one limit for the whole of a request, and whether a request that failed
can have been sent."""

from __future__ import annotations

import base64
import http.client
import io
import os
import re
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .connecting import NOT_TRUSTED, NotSent, connected_socket
from .limit import Cancelled, Limit

# The gateway keeps a connection for longer, but what stands between may not.
IDLE_SECONDS = 4.0
# A page of a hundred transactions, each with a hundred KVPs, has 11 MB.
LONGEST_BODY_BYTES = 64 * 1024 * 1024
_THIS_MACHINE = re.compile(r"localhost|127(\.[0-9]+){3}|::1")


class NoAnswer(Exception):
    """The request may have arrived, and no whole answer of the gateway came back."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Payload:
    """A body to send. It may hold a card number, so it does not show itself."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return f"<{len(self.content)} bytes>"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class _Reader(io.RawIOBase):
    """What comes out of a socket, for as long as its line's limit says, however slowly it comes."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            self._line.sock.settimeout(self._line.limit.turn())
            try:
                return self._line.sock.recv_into(buffer)
            except TimeoutError:
                continue


class _Line:
    """What `http.client` needs of a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.limit = Limit(0)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def sendall(self, content: bytes) -> None:
        self.sock.settimeout(max(self.limit.left(), 0.001))
        self.sock.sendall(content)

    def close(self) -> None:
        self.sock.close()


class _Connection:
    def __init__(self, http: http.client.HTTPConnection, line: _Line) -> None:
        self.http = http
        self.line = line
        self.idle_since = 0.0

    def usable(self) -> bool:
        """What can be read before anything was asked is its end, or nothing that we want."""
        if time.monotonic() - self.idle_since > IDLE_SECONDS:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self.line.sock, selectors.EVENT_READ)
            return not selector.select(0)


class Transport:
    def __init__(
        self, base_url: str, username: str, password: str, tls: ssl.SSLContext | None, allow_plain_http: bool
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url must look like https://gateway.example/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("base_url takes no user name, query or fragment")
        if parts.scheme == "http" and not allow_plain_http and not _THIS_MACHINE.fullmatch(parts.hostname):
            raise ValueError(
                "base_url must begin with https://, since card numbers are sent there; allow_plain_http if that network is safe"
            )
        if not username or not password or ":" in username:
            raise ValueError("username and password are needed, and a user name has no colon")
        self.base_url = base_url.rstrip("/")
        self.base_path = parts.path.rstrip("/")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._host_header = parts.netloc
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._secret = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
        self._idle: list[_Connection] = []
        self._process = os.getpid()
        self._lock = threading.Lock()

    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], payload: Payload | None, limit: Limit
    ) -> Answer:
        """One request and its whole answer. `target` is a path with its query, from the root of the host."""
        connection = self._take() or self._connect(limit)
        connection.line.limit = limit
        try:
            connection.http.request(
                method,
                target,
                body=None if payload is None else payload.content,
                headers={
                    "Host": self._host_header,
                    "Authorization": self._secret,
                    "Accept": "application/json",
                    **({} if payload is None else {"Content-Type": "application/json"}),
                    **headers,
                },
            )
            response = connection.http.getresponse()
            body = response.read(LONGEST_BODY_BYTES + 1)
            if len(body) > LONGEST_BODY_BYTES:
                raise NoAnswer("an answer without an end")
            # Names without their case, since a proxy may change it.
            answer = Answer(response.status, {name.lower(): text for name, text in response.getheaders()}, body)
        except (NoAnswer, Cancelled):
            connection.http.close()
            raise
        except TimeoutError:
            connection.http.close()
            raise NoAnswer("timeout") from None
        except Exception:
            connection.http.close()
            # Whatever it was, the request may have arrived. The error itself goes no further: it may quote what came.
            raise NoAnswer("broken") from None
        except BaseException:
            connection.http.close()
            raise
        if response.will_close:
            connection.http.close()
        else:
            self._give_back(connection)
        return answer

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.http.close()

    def _take(self) -> _Connection | None:
        while True:
            with self._lock:
                if self._process != os.getpid():
                    # After a fork both processes would read each other's answers. This closes only what is this one's.
                    for inherited in self._idle:
                        inherited.http.close()
                    self._idle, self._process = [], os.getpid()
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.http.close()

    def _give_back(self, connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(connection)

    def _connect(self, limit: Limit) -> _Connection:
        sock = connected_socket(self._host, self._port, limit)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock.settimeout(max(limit.left(), 0.001))
                sock = self._tls.wrap_socket(sock, server_hostname=self._host)
        except ssl.SSLCertVerificationError as error:
            sock.close()
            raise NotSent(f"{NOT_TRUSTED}: {error.verify_message}") from error
        except OSError as error:
            sock.close()
            raise NotSent from error
        except BaseException:
            sock.close()
            raise
        line = _Line(sock)
        connection = http.client.HTTPConnection(self._host, self._port)
        connection.auto_open = 0
        connection.sock = line
        return _Connection(connection, line)
