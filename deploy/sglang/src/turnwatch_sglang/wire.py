"""Frames between the scheduler processes and the HTTP process.

A datagram carries one frame: a tag, the length of a JSON head, the head, and a body of
plain machine numbers. Both ends run on one host from one installation, so the body
needs no byte order, and a frame of another layout is dropped by its tag.
"""

from __future__ import annotations

import json
import struct
from typing import Any

TAG = b"TWSG1"
PREFIX = struct.Struct("<5sI")
MOST = 160 * 1024  # bytes a frame; below the usual limit of a unix datagram

RUN = ("first_step", "last_step", "batch", "bucket", "t0_ms", "t1_ms")
WIDTH = len(RUN)
UNKNOWN = -1.0  # a bucket that nothing told


def pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Pack returns the frame of head and body."""
    text = json.dumps(head, separators=(",", ":")).encode()
    return PREFIX.pack(TAG, len(text)) + text + body


def unpack(frame: bytes) -> tuple[dict[str, Any], bytes]:
    """Unpack is the reverse of pack; it raises ValueError for anything else."""
    if len(frame) < PREFIX.size:
        raise ValueError("short frame")
    tag, size = PREFIX.unpack_from(frame)
    if tag != TAG or len(frame) < PREFIX.size + size:
        raise ValueError("foreign frame")
    end = PREFIX.size + size
    head = json.loads(frame[PREFIX.size : end])
    if not isinstance(head, dict):
        raise ValueError("head of a frame is no object")
    return head, frame[end:]
