"""An organisation that is served at another address."""

import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tollgate_client import OrganisationMoved, OutcomeUnknown
from tollgate_client.sqlite_memory import SqliteMemory

from .scene import client, order, pay


class Elsewhere(BaseHTTPRequestHandler):
    base = ""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        problem = {"error_code": "organisation_moved", "error_message": "Moved.", "location": ["header", "Host"]}
        body = json.dumps({"errors": [problem], "_links": {"base": {"href": self.base}}}).encode()
        self.send_response(421)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_: object) -> None:
        pass


class Moved(unittest.TestCase):
    def setUp(self) -> None:
        server = HTTPServer(("127.0.0.1", 0), Elsewhere)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.memory = SqliteMemory(Path(folder.name) / "memory.db")
        self.addCleanup(self.memory.close)
        self.gateway = client(f"http://127.0.0.1:{server.server_port}/v1", memory=self.memory)
        self.addCleanup(self.gateway.close)

    def test_every_call_says_where_and_what_was_begun_stays_open(self) -> None:
        Elsewhere.base = "https://acme.pay.example/"
        with self.assertRaises(OrganisationMoved) as paying:
            pay(self.gateway, order(), correlation_id="moved-1")
        self.assertIsInstance(paying.exception, OutcomeUnknown)
        self.assertEqual((paying.exception.reason, paying.exception.base), ("moved", "https://acme.pay.example/"))
        self.assertIn("https://acme.pay.example/", str(paying.exception))
        with self.assertRaises(OrganisationMoved):
            self.gateway.transaction(1)
        (begun,) = self.memory.open()
        with self.assertRaises(OrganisationMoved) as recovering:
            self.gateway.recover(begun)
        self.assertEqual(recovering.exception.correlation_id, "moved-1")

    def test_an_address_that_is_none_is_not_told(self) -> None:
        for Elsewhere.base in ("http://acme.pay.example/", "https://user@evil.example/", "javascript:alert(1)"):
            with self.assertRaises(OrganisationMoved) as looking:
                self.gateway.transaction(1)
            self.assertIsNone(looking.exception.base)
