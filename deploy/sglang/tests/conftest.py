"""Fixtures: the scripted server in its variants, and turnwatch in front of one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import standins

standins.install()

HERE = Path(__file__).parent
KEY = "sk-secret-of-the-server"
PATIENCE = 120.0  # seconds that a loaded machine may take for anything


def wait(for_what: str, condition: Callable[[], Any]) -> Any:
    """wait returns the first true value of condition."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE} s in vain for {for_what}")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Process:
    """Process is a server under test, with what it writes to its standard error."""

    def __init__(self, command: list[str], port: int, log: Path, env: dict[str, str] | None = None) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=HERE, stdout=out, stderr=out, env={**os.environ, **(env or {})}, start_new_session=True
            )

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def ready(self, path: str, key: str | None) -> None:
        def up() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended:\n{self.text()[-4000:]}")
            try:
                get(self.url + path, key)
            except urllib.error.HTTPError:
                return True
            except OSError:
                return False
            return True

        wait(f"{self.url} to listen", up)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def get(url: str, key: str | None = None) -> Any:
    """get returns the JSON at url."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
        return json.loads(answer.read() or b"null")


def start(folder: Path, key: str | None = None, **env: str) -> Process:
    port = free_port()
    command = [sys.executable, "-W", "ignore", "server.py", str(port), *([key] if key else [])]
    server = Process(command, port, folder / "server.log", env)
    server.ready("/v1/models", key)
    return server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """server is SGLang with the plugin, a key and token ids kept."""
    flags = {"TURNWATCH_KEEP_TOKENS": "1", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP": "0"}
    server = start(tmp_path_factory.mktemp("server"), KEY, **flags)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """open_server has the plugin and token ids kept, but no key."""
    server = start(tmp_path_factory.mktemp("open"), None, TURNWATCH_KEEP_TOKENS="1")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """plain_server is the same SGLang with the plugin left out."""
    server = start(tmp_path_factory.mktemp("plain"), None, SGLANG_PLUGINS="nothing")
    yield server
    server.stop()


class Turnwatch(Process):
    """Turnwatch is the sidecar in front of a server."""

    def __init__(self, upstream: str, folder: Path) -> None:
        port = free_port()
        self.journal = folder / "journal.jsonl"
        key = folder / "key"
        key.write_text(KEY)
        command = [
            os.environ["TURNWATCH_BINARY"], "-upstream", upstream, "-listen", f"127.0.0.1:{port}",
            "-admin", f"127.0.0.1:{free_port()}", "-journal", str(self.journal), "-upstream-key-file", str(key),
        ]  # fmt: skip
        super().__init__(command, port, folder / "turnwatch.log")

    def turn(self, rid: str) -> dict[str, Any]:
        """turn returns the journal line of the turn with that rid."""

        def line() -> Any:
            text = self.journal.read_text() if self.journal.exists() else ""
            turns = [json.loads(part) for part in text.splitlines() if rid in part]
            return turns[0] if turns else None

        found: dict[str, Any] = wait(f"the journal line of {rid}", line)
        return found


@pytest.fixture(scope="session")
def turnwatch(server: Process, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turnwatch]:
    """turnwatch stands in front of server."""
    sidecar = Turnwatch(server.url, tmp_path_factory.mktemp("turnwatch"))
    sidecar.ready("/v1/models", KEY)
    yield sidecar
    sidecar.stop()


def scrub(body: bytes) -> bytes:
    """scrub takes ids and times out of an answer."""
    body = re.sub(rb'"(id|rid)":"(call_)?[0-9a-f]{24,32}"', rb'"\1":"\2ID"', body)
    return re.sub(rb'"created":\d+', b'"created":0', body)
