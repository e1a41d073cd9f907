"""A proxy between client and gateway that loses, delays, cuts, repeats and makes up. What happens to the next requests is queued."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .scene import BASE_URL

Forwarded = tuple[int, dict[str, str], bytes]
Fault = Callable[["Exchange"], None]


class Exchange:
    """One request on its way."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes, gone: threading.Event) -> None:
        self._handler = handler
        self.body = body
        self.gone = gone

    def forward(self) -> Forwarded:
        address = urlsplit(BASE_URL)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=100)
        headers = {name: text for name, text in self._handler.headers.items() if name.lower() != "connection"}
        connection.request(self._handler.command, self._handler.path, self.body or None, headers)
        response = connection.getresponse()
        answer = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return answer

    def answer(self, answer: Forwarded, part: float = 1.0) -> None:
        status, headers, body = answer
        self._handler.send_response_only(status)
        for name, text in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self._handler.send_header(name, text)
        self._handler.send_header("Content-Length", str(len(body)))
        self._handler.end_headers()
        self._handler.wfile.write(body[: int(len(body) * part)])
        if part < 1:
            self._handler.close_connection = True

    def cut(self) -> None:
        self._handler.close_connection = True

    def trickle(self, seconds: float) -> None:
        """A byte now and then, and never the end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.gone.is_set():
            self._handler.wfile.write(b"H")
            time.sleep(0.05)


def lose_request(exchange: Exchange) -> None:
    exchange.cut()


def lose_answer(exchange: Exchange) -> None:
    exchange.forward()
    exchange.cut()


def cut_answer(exchange: Exchange) -> None:
    exchange.answer(exchange.forward(), part=0.5)


def repeat_request(exchange: Exchange) -> None:
    """The client gets the answer to the second copy."""
    exchange.forward()
    exchange.answer(exchange.forward())


def repeat_and_lose(exchange: Exchange) -> None:
    exchange.forward()
    exchange.forward()
    exchange.cut()


def garbage(exchange: Exchange) -> None:
    exchange.forward()
    exchange.answer((200, {"Content-Type": "text/html"}, b"<html>Welcome to this hotel</html>"))


def page_of_a_proxy(exchange: Exchange) -> None:
    exchange.forward()
    exchange.answer((502, {"Content-Type": "text/html"}, b"<html>Bad gateway</html>"))


def nested(exchange: Exchange) -> None:
    exchange.forward()
    exchange.answer((201, {"Content-Type": "application/json"}, b"[" * 200_000))


def strange_problems(exchange: Exchange) -> None:
    exchange.forward()
    exchange.answer((422, {"Content-Type": "application/json"}, b'{"errors": [{"error_code": "x", "location": 5}]}'))


def another_answer(exchange: Exchange) -> None:
    """As if it were this one's."""
    status, headers, body = exchange.forward()
    headers = {name: text for name, text in headers.items() if name.lower() != "x-correlation-id"}
    declined = body.replace(b'"approved"', b'"declined"')
    exchange.answer((status, {**headers, "X-Correlation-Id": "somebody-else"}, declined))


def trickle(exchange: Exchange) -> None:
    exchange.forward()
    exchange.trickle(60)
    exchange.cut()


def hold(seconds: float) -> Fault:
    """Longer than the client waits; the request arrives all the same."""

    def held(exchange: Exchange) -> None:
        exchange.gone.wait(seconds)
        exchange.forward()
        exchange.cut()

    return held


def made_up(status: int, error_code: str, **headers: str) -> Fault:
    """Without asking the gateway."""
    body = json.dumps({"errors": [{"error_code": error_code, "error_message": "Later.", "location": []}]}).encode()
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return lambda exchange: exchange.answer((status, sent, body))


def repeats_the_body(exchange: Exchange) -> None:
    """The worst of proxies: shows the request in its error."""
    errors = [{"error_code": "bad", "error_message": exchange.body.decode(), "location": [exchange.body.decode()]}]
    exchange.answer((422, {"Content-Type": "application/json"}, json.dumps({"errors": errors}).encode()))


class MeddlingProxy:
    """Use it with `with`. Faults are for requests of their method, in order; what has none is passed on."""

    def __init__(
        self,
        *faults: Fault,
        method: str = "POST",
        for_ever: Fault | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        waiting = list(faults)
        lock = threading.Lock()
        gone = threading.Event()
        self.seen: list[tuple[str, str, str]] = []
        #: When each of them came, by the same clock that the client goes by.
        self.times: list[float] = []
        #: Where they came from.
        self.connections: set[Any] = set()
        seen, times, connections = self.seen, self.times, self.connections

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                # In the connection's own thread, since a client may take its time.
                if tls is not None:
                    self.request = tls.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def handle_request(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with lock:
                    seen.append((self.command, self.path, self.headers.get("X-Correlation-Id", "")))
                    times.append(time.monotonic())
                    connections.add(self.client_address)
                    fault = for_ever
                    if self.command == method and waiting:
                        fault = waiting.pop(0)
                exchange = Exchange(self, body, gone)
                try:
                    if fault is None:
                        exchange.answer(exchange.forward())
                    else:
                        fault(exchange)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_PATCH = do_DELETE = handle_request

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # Whoever gives a request up breaks its connection.
            handle_error = lambda *_: None

        self._gone = gone
        self._server = Server(("127.0.0.1", 0), Handler)
        scheme = "http" if tls is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}{urlsplit(BASE_URL).path}"

    def __enter__(self) -> MeddlingProxy:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()

    def sent(self, method: str = "POST") -> list[str]:
        """The correlation IDs of what came."""
        return [correlation_id for made, _, correlation_id in self.seen if made == method]
