"""The scheduler's side against SGLang's own processing of batch results."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import engine
import pytest
from engine import Processor, Req

from turnwatch_sglang import config, scheduler, wire
from turnwatch_sglang.store import runs


class Stand:
    """Stand is a scheduler with hooks, and the socket it reports to."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setblocking(False)
        self.streamed: list[str] = []
        self.running = engine.Absent(reqs=[])
        self.probe: Any = None

    def begin(self) -> Processor:
        return Processor(lambda reqs: self.streamed.extend(r.rid for r in reqs), self.running)

    def frames(self, kind: str) -> list[tuple[dict[str, Any], bytes]]:
        found = []
        while True:
            try:
                head, body = wire.unpack(self.socket.recv(wire.MOST))
            except BlockingIOError:
                return found
            if head["k"] == kind:
                found.append((head, body))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    engine.prepare()
    stand = Stand(str(tmp_path_factory.mktemp("s") / "facts"))
    os.environ[config.INBOX] = f"{os.getpid()}:{stand.socket.getsockname()}"
    from sglang.srt.plugins.hook_registry import HookRegistry

    stand.probe = scheduler.install()
    HookRegistry.apply_hooks()
    yield stand
    del os.environ[config.INBOX]
    stand.socket.close()


@pytest.fixture
def stand(installed: Stand) -> Stand:
    installed.frames("")
    installed.running.reqs = []
    return installed


def shape(body: bytes) -> list[tuple[int, int, int]]:
    """shape returns length, batch and bucket of each run."""
    return [(r["last_step"] - r["first_step"] + 1, r["batch"], r["bucket"]) for r in runs(body)]


def test_entry_point_is_where_sglang_looks() -> None:
    from sglang.srt.plugins import GENERAL_PLUGINS_GROUP, load_plugins_by_group

    assert "turnwatch" in [e.name for e in entry_points(group=GENERAL_PLUGINS_GROUP)]
    assert load_plugins_by_group(GENERAL_PLUGINS_GROUP)["turnwatch"][1] == "turnwatch-sglang"


def test_decode_steps_become_runs(stand: Stand) -> None:
    processor = stand.begin()
    short, long = Req("short", [1, 2], [7] * 3), Req("long", [1], [9] * 6)
    processor.prefill([long])
    processor.decode([long])
    processor.prefill([short])
    for _ in range(2):
        processor.decode([long, short])
    assert short.finished()
    for batch in ([long, short], [long]):  # the first is the overshoot of overlap scheduling
        processor.decode(batch)
    assert long.finished()
    turns = {head["rid"]: (head, body) for head, body in stand.frames("turn")}
    assert shape(turns["short"][1]) == [(2, 2, 2)]
    assert shape(turns["long"][1]) == [(1, 1, 1), (3, 2, 2), (1, 1, 1)]
    head = turns["short"][0]
    assert (head["prompt"], head["completion"], head["retractions"]) == (2, 3, 0)
    assert set(stand.streamed) >= {"short", "long"}, "SGLang's own work was done"


def test_first_token_tells_the_batch_before_it_leaves(stand: Stand) -> None:
    processor = stand.begin()
    old, new = Req("old", [1], [5] * 9), Req("new", [1], [5] * 9)
    processor.prefill([old])
    stand.running.reqs = [old]
    processor.prefill([new])
    heads = [head for head, _ in stand.frames("head")]
    assert [(h["rids"], h["batch"], h["bucket"], h["queue"]) for h in heads] == [(["old"], 1, 1, 0), (["new"], 2, 2, 0)]


def test_turn_of_one_token_has_no_runs(stand: Stand) -> None:
    processor = stand.begin()
    processor.prefill([Req("one", [1], [5])])
    ((head, body),) = stand.frames("turn")
    assert (head["completion"], shape(body)) == (1, [])


def test_without_graph_the_bucket_is_zero(stand: Stand) -> None:
    processor = stand.begin()
    eager = Req("eager", [1], [5] * 3)
    processor.prefill([eager])
    for _ in range(2):
        processor.decode([eager], graph=False)
    ((_, body),) = stand.frames("turn")
    assert shape(body) == [(2, 1, 0)]


def test_batch_is_padded_to_the_captured_size(stand: Stand) -> None:
    processor = stand.begin()
    reqs = [Req(f"r{i}", [1], [5] * 2) for i in range(5)]
    processor.prefill(reqs)
    processor.decode(reqs)
    assert [shape(body) for _, body in stand.frames("turn")] == [[(1, 5, 8)]] * 5


def test_what_fails_is_switched_off_and_the_scheduler_goes_on(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    processor = stand.begin()
    monkeypatch.setattr(stand.probe, "on", True)

    def broken(*_: Any) -> None:
        raise AttributeError("a field of another release")

    monkeypatch.setattr(stand.probe.steps, "before", broken)
    r = Req("r", [1], [5] * 4)
    processor.prefill([r])
    processor.decode([r])
    processor.decode([r])
    assert len(r.output_ids) == 3
    assert stand.probe.on is False
    assert sum("a field of another release" in line for line in caplog.messages) == 1
