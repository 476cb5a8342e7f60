"""Small servers on loopback that keep what they are told: a webhook and a mail server."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append(body)  # type: ignore[attr-defined]
        time.sleep(self.server.delay)  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing: what it was told is kept."""


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs to hand over a mail."""

    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "DATA":
                self._say("354 go on")
                lines = []
                while (text := self.rfile.readline().decode()) != ".\r\n":
                    lines.append(text)
                self.server.told.append("".join(lines))  # type: ignore[attr-defined]
                self._say("250 kept")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 fine")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def _served(server: Any) -> Iterator[Any]:
    server.told, server.status, server.delay = [], 200, 0.0
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def webhook(port: int = 0) -> Any:
    return _served(ThreadingHTTPServer(("127.0.0.1", port), _Hook))


def mail_server() -> Any:
    return _served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail))
