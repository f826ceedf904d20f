"""Headers and routes, as pure ASGI: bodies and disconnects pass through untouched."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

from turnwatch_sglang import config
from turnwatch_sglang.inbox import Inbox
from turnwatch_sglang.once import notes
from turnwatch_sglang.store import Store

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

VERSION = "0.1.0"
ROUTE = "/turnwatch/"
TURNS = "/turnwatch/turns"
RID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
FRESH = 15.0  # seconds for which a reading of the configuration holds
PATIENCE = 1.0  # seconds a question waits for a turn whose last step is still on its way


class Slot:
    """Slot carries SGLang's request object from its tokenizer manager out to the middleware."""

    __slots__ = ("request",)

    def __init__(self) -> None:
        self.request: Any = None


current: ContextVar[Slot | None] = ContextVar("turnwatch_slot", default=None)


def note_request(_: Any, request: Any = None, *args: Any, **kwargs: Any) -> None:
    """Note_request runs before TokenizerManager.generate_request and remembers what it was asked."""
    slot = current.get()
    if slot is not None and slot.request is None:
        slot.request = request


class Desk:
    """Desk is what middleware and routes share: the facts, the configuration and who may ask."""

    def __init__(self, manager: Callable[[], Any], sglang_version: str) -> None:
        self.manager = manager
        self.version = sglang_version
        self.store = Store(config.number("TURNWATCH_KEEP_SECONDS", 300))
        self.headers = config.Headers(config.number("TURNWATCH_HEADER_BYTES", 3072))
        self.inbox = Inbox(self.store, self.headers)
        self.hooked = False  # whether requests can be told from one another
        self._lines: list[tuple[bytes, bytes]] = []
        self._read = float("-inf")

    def config_lines(self) -> list[tuple[bytes, bytes]]:
        """Config_lines returns the configuration headers, read afresh every few seconds."""
        now = time.monotonic()
        if now - self._read > FRESH:
            self._read = now
            version = (b"x-sglang-version", config.text(self.version).encode())
            self._lines = [version, *self.headers.lines(self.manager())]
        return self._lines

    def head_lines(self, request: Any) -> list[tuple[bytes, bytes]]:
        """Head_lines returns what is to be said of a request at its first token."""
        lines = list(self.config_lines())
        rid = getattr(request, "rid", None)
        if not isinstance(rid, str) or not RID.fullmatch(rid):
            return lines  # several choices or prompts: no single turn to speak of
        lines.append((b"x-sglang-rid", rid.encode()))
        self.inbox.drain()
        if self.store.heard:
            lines.append((b"x-sglang-turn-facts", TURNS.encode()))
        live = self.store.first(rid)
        if live is None:
            return lines
        lines.append((b"x-sglang-dp-rank", str(live.dp).encode()))
        lines.append((b"x-sglang-batch-size", str(live.batch).encode()))
        if live.bucket >= 0:
            lines.append((b"x-sglang-graph-bucket", str(live.bucket).encode()))
        if live.queue is not None:
            lines.append((b"x-sglang-queue-depth", str(live.queue).encode()))
        return lines

    def allowed(self, scope: Scope) -> tuple[bool, bool]:
        """Allowed says whether the caller may ask at all, and whether for token ids.

        The first follows SGLang's rule for ordinary routes. Ids are text of users: they need
        a key of the server, so without one nobody gets them.
        """
        read = config.reader(self.manager())
        keys = [read(name) for name in ("api_key", "admin_api_key")]
        given = next((v for k, v in scope["headers"] if k.lower() == b"authorization"), b"")
        scheme, _, token = given.partition(b" ")
        bearer = scheme.lower() == b"bearer"
        fits = any(bearer and isinstance(k, str) and k and hmac.compare_digest(token, k.encode()) for k in keys)
        return (fits or not keys[0]), fits

    async def answer(self, scope: Scope, path: str) -> tuple[int, dict[str, Any]]:
        """Answer serves the two routes."""
        ask, ids = self.allowed(scope)
        if not ask:
            return 401, {"error": "Unauthorized"}
        if scope["method"] not in ("GET", "HEAD"):
            return 405, {"error": "only GET"}
        self.inbox.drain()
        if path == ROUTE + "healthz":
            return 200, self.health()
        rid = path.removeprefix(TURNS + "/")
        if rid == path or not RID.fullmatch(rid):
            return 404, {"error": "no such route"}
        facts = await self.facts(rid, ids)
        return (404, {"error": "unknown rid"}) if facts is None else (200, facts)

    async def facts(self, rid: str, ids: bool) -> dict[str, Any] | None:
        """Facts waits a moment for a turn that is known to be ending."""
        until = time.monotonic() + PATIENCE
        while True:
            found = self.store.facts(rid, ids)
            if found is not None or rid not in self.store.live or time.monotonic() > until:
                return found
            await asyncio.sleep(0.01)
            self.inbox.drain()

    def health(self) -> dict[str, Any]:
        """Health tells the state of the plugin and the whole configuration."""
        store = self.store
        return {
            "status": "ok",
            "plugin": VERSION,
            "version": self.version,
            "requests": self.hooked,
            "live": len(store.live),
            "kept": len(store.done),
            "bytes": store.size,
            "lost": store.lost + self.inbox.foreign,
            "notes": notes.said,
            "config": self.headers.all(self.manager()),
        }


class Middleware:
    """Middleware adds headers to answers that an engine request made, and serves the routes."""

    def __init__(self, app: App, desk: Desk) -> None:
        self.app = app
        self.desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call handles one connection scope; whatever is not ours passes as it is."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.desk.inbox.watch()
        path = str(scope["path"]).removeprefix(scope.get("root_path") or "")
        if path.startswith(ROUTE):
            status, body = await self.desk.answer(scope, path)
            await reply(send, status, body)
            return
        await self._watched(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        slot = Slot()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and slot.request is not None:
                try:
                    message["headers"] = [*message.get("headers", ()), *self.desk.head_lines(slot.request)]
                except Exception as err:
                    notes.say(f"an answer went without headers: {err!r}")
            await send(message)

        token = current.set(slot)
        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            current.reset(token)


async def reply(send: Send, status: int, body: dict[str, Any]) -> None:
    """Reply sends one JSON object."""
    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
