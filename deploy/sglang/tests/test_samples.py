"""The judge's samples of answers whose marks arrive whole: they are what SGLang's server sends.

With TURNWATCH_UPDATE_SAMPLES=1 they are written anew.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sglang
from conftest import PATIENCE, Process, free_port, scrub
from samples import MODELS

RECORDED = Path(__file__).parents[3] / "validate" / "testdata" / "samples"
RELEASE = "0.5.23"  # whose bytes they are
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def answer(port: int, streamed: bool) -> bytes:
    """answer is what the server writes to its socket for a request with a tool."""
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [{"type": "function", "function": WEATHER}],
        "stream": streamed,
        **({"stream_options": {"include_usage": True}} if streamed else {}),
    }
    body = json.dumps(asked).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
        line.sendall(head.encode() + body)
        return b"".join(iter(lambda: line.recv(1 << 16), b""))


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """model is the name of a model and the port of the server that has it."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "samples.py", str(port), request.param]
    log = tmp_path_factory.mktemp(request.param) / "server.log"
    running = Process(command, port, log, {"SGLANG_PLUGINS": "nothing"})
    running.ready("/v1/models", None)
    yield request.param, port
    running.stop()


def settle(raw: bytes) -> bytes:
    """settle takes what differs from run to run out of an answer."""
    return re.sub(rb"(?m)^date: .*$", b"date:", scrub(raw))


def told(raw: bytes) -> list[tuple[str, str]]:
    """told is each piece of text, name, arguments and finish of an answer, in order, adjacent ones joined."""
    found: list[tuple[str, str]] = []
    for part in re.findall(rb"^(?:data: )?(\{.*\})\r?$", raw, re.M):
        for choice in json.loads(part)["choices"]:
            said = choice.get("delta") or choice["message"]
            calls = [call["function"] for call in said.get("tool_calls") or []]
            pairs = [(key, said.get(key)) for key in ("reasoning_content", "content")]
            pairs += [(key, call[key]) for call in calls for key in ("name", "arguments")]
            for key, text in [*pairs, ("finish_reason", choice["finish_reason"])]:
                if text and found and found[-1][0] == key:
                    found[-1] = key, found[-1][1] + text
                elif text:
                    found.append((key, text))
    return found


@pytest.mark.parametrize("shape", ["stream", "nonstream"])
def test_samples_are_what_the_server_sends(model: tuple[str, int], shape: str) -> None:
    name, port = model
    sample = RECORDED / f"{name}_{shape}.http"
    live = answer(port, shape == "stream")
    if os.environ.get("TURNWATCH_UPDATE_SAMPLES") and sglang.__version__ == RELEASE:
        sample.write_bytes(live)
    recorded = sample.read_bytes()
    assert told(live) == told(recorded)
    assert sglang.__version__ != RELEASE or settle(live) == settle(recorded)
    assert ("name", "get_weather") in told(live)
    assert b"<|" not in live
