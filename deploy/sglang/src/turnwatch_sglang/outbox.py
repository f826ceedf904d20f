"""The scheduler's end of the socket: it never blocks a step and never grows without bound."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections import deque

BACKLOG = 8 << 20  # bytes waiting for a slow HTTP process, beyond which frames are dropped
SLOWEST = 0.25  # seconds between tries while nobody reads
FULL = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS)


class Outbox:
    """Outbox sends frames to the HTTP process of the same server.

    A frame that the socket does not take at once waits in a backlog, which a thread of its
    own empties; it is started when first needed, since a socket may hold no more than ten
    datagrams. What nobody listens to is dropped and counted.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.dropped = 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self._ready = threading.Condition()
        self._waiting: deque[bytes] = deque()  # guarded by _ready, as are the two below
        self._bytes = 0
        self._thread: threading.Thread | None = None

    def send(self, frame: bytes) -> None:
        """Send hands the frame over or keeps it; it does not wait."""
        if not self._bytes and self._try(frame):
            return
        with self._ready:
            if self._bytes + len(frame) > BACKLOG:
                self.dropped += 1
                return
            self._waiting.append(frame)
            self._bytes += len(frame)
            if self._thread is None:
                self._thread = threading.Thread(target=self._drain, name="turnwatch-outbox", daemon=True)
                self._thread.start()
            self._ready.notify()

    def _try(self, frame: bytes) -> bool:
        """_try tells whether the frame is off our hands: taken, or lost for good."""
        try:
            self.socket.sendto(frame, self.path)
        except OSError as err:
            if err.errno in FULL:
                return False
            self.dropped += 1  # no listener, or a frame that no socket takes
        return True

    def _drain(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._waiting)
                frame = self._waiting[0]
            pause = 0.001
            while not self._try(frame):
                time.sleep(pause)  # nothing tells when the receiver's queue has room again
                pause = min(2 * pause, SLOWEST)
            with self._ready:
                self._waiting.popleft()
                self._bytes -= len(frame)
