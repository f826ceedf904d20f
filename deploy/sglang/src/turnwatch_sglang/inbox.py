"""The HTTP process's end of the socket."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import socket
import tempfile

from turnwatch_sglang import config, wire
from turnwatch_sglang.once import notes
from turnwatch_sglang.store import Store

LONGEST = 96  # bytes of the directory's name: the name of a unix socket has room for 107
AT_ONCE = 256  # datagrams read before the event loop gets its turn


class Inbox:
    """Inbox owns a directory only this user can enter and the socket in it that schedulers write to."""

    def __init__(self, store: Store, headers: config.Headers) -> None:
        self.store = store
        self.headers = headers
        self.foreign = 0
        self.directory = tempfile.mkdtemp(prefix="turnwatch-")
        if len(self.directory) > LONGEST:
            os.rmdir(self.directory)
            self.directory = tempfile.mkdtemp(prefix="turnwatch-", dir="/tmp")
        self.path = os.path.join(self.directory, "facts")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.owner = os.getpid()
        os.environ[config.INBOX] = f"{self.owner}:{self.path}"
        atexit.register(self.close)

    def open(self) -> None:
        """Open makes the socket reachable; what schedulers send before, or without an HTTP server, is lost at once."""
        self.socket.bind(self.path)

    def watch(self) -> None:
        """Watch has the running event loop read the socket; it may be called again and again."""
        loop = asyncio.get_running_loop()
        if loop is not self.loop:
            self.loop = loop
            loop.add_reader(self.socket.fileno(), self.drain)

    def drain(self) -> None:
        """Drain takes what has arrived, without waiting."""
        for _ in range(AT_ONCE):
            try:
                frame = self.socket.recv(wire.MOST)
            except OSError:
                return
            try:
                self._take(*wire.unpack(frame))
            except (ValueError, KeyError, TypeError) as err:
                self.foreign += 1
                notes.say(f"dropped a frame from a scheduler: {err!r}")

    def _take(self, head: dict[str, object], body: bytes) -> None:
        kind = head["k"]
        if kind == "head":
            self.store.head(head)
        elif kind == "ids":
            self.store.tokens(head, body)
        elif kind == "turn":
            self.store.turn(head, body)
        elif kind == "flags":
            flags, given = head["flags"], head["set"]
            if isinstance(flags, dict) and isinstance(given, list):
                self.headers.tell(flags, given)

    def close(self) -> None:
        """Close removes the socket, in the process that made it."""
        if os.getpid() == self.owner:
            self.socket.close()
            with contextlib.suppress(OSError):
                shutil.rmtree(self.directory)
