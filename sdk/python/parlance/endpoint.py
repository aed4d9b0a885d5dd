"""The handler of an Interactions Endpoint, for aiohttp.web and for http.server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from http.server import BaseHTTPRequestHandler

from aiohttp import web

from .codec import decode
from .generated.models import Interaction as InteractionData
from .signatures import SIGNATURE_HEADER, TIMESTAMP_HEADER, to_secret, verify_request

__all__ = ["Endpoint"]

log = logging.getLogger("parlance")

BODY_BYTES = 1024 * 1024


class Endpoint:
    """
    Receives the interactions of an application over HTTPS. It verifies each request, answers pings, and runs the handler of the command, which answers by the
    API: the response itself is empty. It is sent at once, or with ``wait`` after the handler has ended, for hosts that stop a program after its response.
    """

    def __init__(self, signing_secret: str, start: Callable[[InteractionData], Awaitable[asyncio.Future[None]]]) -> None:
        self._secret = to_secret(signing_secret)
        self._start = start

    async def receive(self, body: bytes, headers: Mapping[str, str], *, wait: bool = False) -> tuple[int, bytes]:
        """Handles one request; returns the status and the body of the response, which is JSON. For other web servers."""
        named = {name.lower(): value for name, value in headers.items()}
        if not verify_request(self._secret, body, named.get(TIMESTAMP_HEADER.lower()), named.get(SIGNATURE_HEADER.lower())):
            return 401, b'{"message":"the signature is not valid"}'
        try:
            data = json.loads(body)
            kind = data["type"]
        except (ValueError, KeyError, TypeError):
            return 400, b'{"message":"the body is not an interaction"}'
        if kind == "ping":
            return 200, b'{"type":"pong"}'
        handled = await self._start(decode(InteractionData, data))
        if wait:
            await asyncio.shield(handled)
        return 200, b""

    async def aiohttp(self, request: web.Request) -> web.Response:
        """A handler for aiohttp: ``app.router.add_post("/interactions", endpoint.aiohttp)``."""
        if (request.content_length or 0) > BODY_BYTES:
            return web.Response(status=413)
        status, body = await self.receive(await request.read(), request.headers)
        return web.Response(status=status, body=body, content_type="application/json" if body else None)

    def http_server(self, loop: asyncio.AbstractEventLoop) -> type[BaseHTTPRequestHandler]:
        """A handler for ``http.server.ThreadingHTTPServer``. ``loop`` is the running event loop of the client, in another thread."""
        receive = self.receive

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                if not length.isdigit() or int(length) > BODY_BYTES:
                    self.send_error(413)
                    return
                body = self.rfile.read(int(length))
                status, answer = asyncio.run_coroutine_threadsafe(receive(body, dict(self.headers.items())), loop).result(10)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                log.debug("%s %s", self.address_string(), format % arguments)

        return Handler
