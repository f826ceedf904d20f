"""The scheduler's side against SGLang's own processing of batch results."""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
from array import array
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import engine
import pytest
from engine import Processor, Req

from turnwatch_sglang import attach, config, outbox, scheduler, wire
from turnwatch_sglang.store import Store, runs


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


LATE = """
import sys
import standins
standins.install()
from sglang.srt.plugins import load_plugins
load_plugins()
name = "sglang.srt.entrypoints.http_server"
assert name not in sys.modules, "loading the plugin imported the server"
import importlib
server = importlib.import_module(name)
assert server.__spec__.loader is server.__loader__ and "turnwatch" not in type(server.__loader__).__module__
from turnwatch_sglang.middleware import Middleware
assert [m.cls for m in server.app.user_middleware].count(Middleware) == 1
print("attached")
"""


def test_plugin_waits_for_the_server_to_be_imported() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LATE], env=env, capture_output=True, text=True, check=False
    )
    assert ran.stdout.endswith("attached\n"), ran.stderr


def test_server_that_cannot_be_attached_to_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "started_server.py").write_text("class app:\n    add_middleware = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(attach, "SERVER", "started_server")
    attach.prepare()
    assert importlib.import_module("started_server").app
    assert sum("no headers and no facts route" in line for line in caplog.messages) == 1
    del os.environ[config.INBOX]


def test_release_that_processes_results_elsewhere_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(config.INBOX, "1:/nowhere")
    monkeypatch.setattr(scheduler, "HOMES", (("sglang.srt.of_tomorrow", "Processor"),))
    assert scheduler.install() is None
    assert scheduler.install() is None
    assert sum("in a place unknown to us" in line for line in caplog.messages) == 1


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


def test_token_ids_are_kept_whole_or_not_at_all(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = stand.begin()
    monkeypatch.setattr(stand.probe, "on", True)
    monkeypatch.setattr(stand.probe, "keep_tokens", 6)
    monkeypatch.setattr(scheduler, "PIECE", 4)
    picture = Req("picture", [1, 2], [9])
    picture.multimodal_inputs = object()
    processor.prefill([Req("kept", [1, 2, 3, 4, 5, 6], [9]), Req("long", [1, 2, 3, 4, 5, 6, 7], [9]), picture])
    kept = Store(60)
    while True:
        try:
            head, body = wire.unpack(stand.socket.recv(wire.MOST))
        except BlockingIOError:
            break
        {"ids": kept.tokens, "turn": kept.turn}.get(head["k"], lambda *_: None)(head, body)

    def ids(rid: str, wanted: bool = True) -> dict[str, Any]:
        return {name: value for name, value in (kept.facts(rid, wanted) or {}).items() if "_ids" in name}

    assert ids("kept") == {"input_ids": [1, 2, 3, 4, 5, 6], "output_ids": [9]}
    assert ids("long") == {"input_ids_of": 7, "output_ids": [9]}
    assert ids("picture") == {"input_ids_of": 2, "output_ids": [9]}
    assert ids("kept", False) == {}


def test_output_ids_stand_in_the_order_of_the_decode(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = stand.begin()
    monkeypatch.setattr(stand.probe, "keep_tokens", 100)
    a, b = Req("a", [1, 2], [11, 12, 13, 14]), Req("b", [3], [21, 22, 23, 24, 25])
    processor.prefill([a, b])
    for _ in range(4):
        processor.decode([a, b])
    sent = {(head["rid"], head["name"]): list(array("q", body)) for head, body in stand.frames("ids")}
    assert sent["a", "input_ids"] == [1, 2]
    assert sent["a", "output_ids"] == [11, 12, 13, 14], "without the step that a finished turn stays in its batch"
    assert sent["b", "output_ids"] == [21, 22, 23, 24, 25]


def test_only_the_first_rank_speaks(tmp_path: Path) -> None:
    f = {"attn_tp_rank": 0, "attn_cp_rank": 0, "pp_rank": 0, "dp_rank": 3}
    for ranks, on in ((f, True), ({**f, "attn_tp_rank": 1}, False), ({**f, "pp_rank": 1}, False)):
        for fields in (ranks, {"ps": engine.Absent(**ranks)}):  # releases keep them in two places
            probe = scheduler.Probe(outbox.Outbox(str(tmp_path / "nobody")), 0)
            probe.started(None, engine.Absent(**fields))
            assert (probe.on, probe.dp_rank) == (on, 3 if on else 0)


def test_scheduler_says_once_what_several_tokenizers_cost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        probe = scheduler.Probe(outbox.Outbox(str(tmp_path / "nobody")), 0)
        probe.started(None, engine.Absent(server_args=engine.Absent(tokenizer_worker_num=4)))
    assert sum("--tokenizer-worker-num=4" in line for line in caplog.messages) == 1
