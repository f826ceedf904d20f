"""Runs, rings and bounds, without SGLang."""

from __future__ import annotations

import array
import socket
import threading
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from turnwatch_sglang import config, outbox, steps, store, wire


def req(rid: str, made: int = 1) -> Any:
    return SimpleNamespace(rid=rid, finished_reason=None, is_retracted=False, output_ids=[0] * made)


class Log:
    """Log is a Steps whose finished turns are kept as runs."""

    def __init__(self) -> None:
        self.turns: dict[str, list[dict[str, Any]]] = {}
        self.kept: dict[str, steps.Turn] = {}
        self.ticks = 0
        self.steps = steps.Steps(self.finished, self.clock)

    def clock(self) -> float:
        self.ticks += 1
        return float(self.ticks)

    def finished(self, r: Any, turn: steps.Turn, runs: Any) -> None:
        assert r.rid not in self.turns, "a turn ends once"
        self.turns[r.rid] = store.runs(runs.tobytes())
        self.kept[r.rid] = turn

    def step(self, reqs: list[Any], bucket: float = 8.0, end: Any = (), tokens: int = 1) -> None:
        self.steps.before(reqs, bucket)
        for r in reqs:
            if r.finished_reason is None and not r.is_retracted:
                r.output_ids.extend([0] * tokens)
            if r in end:
                r.finished_reason = "stop"
        self.steps.after()

    def shape(self, rid: str) -> list[tuple[int, int, int, int]]:
        return [(r["first_step"], r["last_step"], r["batch"], r["bucket"]) for r in self.turns[rid]]


def test_equal_steps_are_one_run() -> None:
    log, a, b = Log(), req("a"), req("b")
    for _ in range(3):
        log.step([a])
    log.step([a, b])
    log.step([a, b], end=[a, b])
    assert log.shape("a") == [(1, 3, 1, 8), (4, 5, 2, 8)]
    assert log.shape("b") == [(4, 5, 2, 8)]
    assert [(r["t0_ms"], r["t1_ms"]) for r in log.turns["a"]] == [(1000.0, 3000.0), (4000.0, 5000.0)]
    assert log.steps.turns == {}


def test_overshoot_belongs_to_nobody_but_the_batch() -> None:
    log, a, b = Log(), req("a"), req("b")
    log.step([a, b], end=[a])
    log.step([a, b])
    log.step([b], end=[b])
    assert log.shape("a") == [(1, 1, 2, 8)]
    assert log.shape("b") == [(1, 2, 2, 8), (3, 3, 1, 8)]
    assert log.steps.reqs == [], "nothing is kept of the last batch"


def test_retracted_turn_goes_on_after_its_second_prefill() -> None:
    log, a, b = Log(), req("a"), req("b")
    log.step([a, b])
    a.is_retracted = True
    log.step([a, b])  # its result is thrown away
    log.step([b])
    a.is_retracted = False
    for made in (len(a.output_ids), len(a.output_ids) - 1):  # a chunk without a token, and the last one
        log.steps.before_prefill(1, False)
        log.steps.after_prefill([(a, made)], False)
    log.step([b, a], end=[a, b])
    assert log.shape("a") == [(1, 1, 2, 8), (3, 3, 1, 0), (4, 4, 2, 8)]
    assert log.shape("b") == [(1, 2, 2, 8), (3, 3, 1, 8), (4, 4, 2, 8)]
    assert log.kept["a"].retractions == 1


def test_mixed_batch_counts_as_a_step_without_graph() -> None:
    log, old, new = Log(), req("old"), req("new")
    log.step([old])
    log.steps.before_prefill(2, True)
    log.steps.after_prefill([(new, 0), (old, 2)], True)
    log.step([old, new], end=[old, new])
    assert log.shape("old") == [(1, 1, 1, 8), (2, 2, 2, 0), (3, 3, 2, 8)]
    assert log.shape("new") == [(3, 3, 2, 8)]


def test_turn_ended_from_outside_is_handed_over_too() -> None:
    log, a, b = Log(), req("a"), req("b")
    log.step([a, b])
    a.finished_reason = "abort"
    log.step([a, b])
    log.step([b])
    assert log.shape("a") == [(1, 2, 2, 8)]


def test_turn_that_leaves_without_a_last_step_is_handed_over() -> None:
    log, a, b = Log(), req("a"), req("b")
    log.step([a, b])
    a.finished_reason = "abort"
    log.step([b])
    assert log.shape("a") == [(1, 1, 2, 8)]
    assert list(log.steps.turns) == ["b"]


def test_long_turn_keeps_its_length_and_largest_batch() -> None:
    for length in (steps.KEEP - 1, steps.KEEP, steps.EPOCHS // 2 + 1, 2 * steps.EPOCHS + 7):
        log, a = Log(), req("a")
        others = [req(f"o{i}") for i in range(50)]
        log.step([a, *others])
        for i in range(length):
            log.step([a, *others[: i % 3]])
        log.step([a], end=[a])
        found = log.turns["a"]
        assert sum(r["last_step"] - r["first_step"] + 1 for r in found) == length + 2
        assert found[0]["batch"] == 51
        assert len(found) <= steps.KEEP + 5
        assert log.kept["a"].merged == (length + 2 > steps.KEEP)
        assert all(x["last_step"] + 1 == y["first_step"] for x, y in pairwise(found))


def test_turn_retracted_again_and_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "KEEP", 8)
    log, a, b = Log(), req("a"), req("b")
    for _ in range(50):
        a.is_retracted = False
        log.step([a, b])
        a.is_retracted = True
        log.step([a, b])
        log.step([b])
    a.is_retracted = False
    log.step([a], end=[a])
    assert len(log.turns["a"]) <= 10
    assert max(r["batch"] for r in log.turns["a"]) == 2


def test_unfinished_turns_are_bounded() -> None:
    log = Log()
    for i in range(3 * steps.TURNS // 2):
        log.step([req(f"r{i}")])
    assert len(log.steps.turns) <= steps.TURNS
    assert log.steps.evicted > 0


@pytest.mark.parametrize(
    ("batch", "graph", "want"), [(1, True, 1), (3, True, 4), (4, True, 4), (9, True, -1), (3, False, 0)]
)
def test_buckets(batch: int, graph: bool, want: float) -> None:
    assert steps.Buckets([4, 1, 2]).of(batch, graph) == want


def turn_head(rid: str) -> dict[str, Any]:
    zero = {"dp": 0, "prompt": 1, "completion": 1, "retractions": 0, "lost": 0}
    return {"rid": rid, "merged": False, **zero}


def test_store_is_bounded_by_number_and_age() -> None:
    now = [0.0]
    kept = store.Store(10, lambda: now[0])
    for i in range(store.DONE + 5):
        kept.turn(turn_head(f"r{i}"), b"")
    assert len(kept.done) == store.DONE
    now[0] = 11
    kept.turn(turn_head("last"), b"")
    assert list(kept.done) == ["last"]


def test_store_is_bounded_by_size() -> None:
    kept = store.Store(1e9)
    piece = array.array("q", range(1 << 17)).tobytes()
    for i in range(100):
        kept.tokens({"rid": f"r{i}", "name": "input_ids", "at": 0, "of": 1 << 17}, piece)
        if i % 2:
            kept.turn(turn_head(f"r{i}"), b"")
        assert kept.held <= store.IDS + len(piece)
    held = sum(store.held(done.ids) for done in kept.done.values()) + sum(map(store.held, kept.ids.values()))
    assert held == kept.held
    assert sum(done.size for done in kept.done.values()) + held == kept.size <= store.BYTES + len(piece)
    assert len(kept.done) == 50, "the facts of turns stay when their ids go"
    told = [kept.facts(rid, True) or {} for rid in kept.done]
    assert [name for name in told[0] if "_ids" in name] == ["input_ids_of"]
    assert (len(told[-1]["input_ids"]), told[0]["input_ids_of"]) == (1 << 17, 1 << 17)


def test_half_a_list_is_not_told() -> None:
    kept = store.Store(60)
    piece = array.array("q", range(4)).tobytes()
    for at in (0, 8):  # the piece between is lost
        kept.tokens({"rid": "r", "name": "output_ids", "at": at, "of": 12}, piece)
    kept.turn(turn_head("r"), b"")
    facts = kept.facts("r", True) or {}
    assert (facts["output_ids_of"], "output_ids" in facts) == (12, False)


def test_outbox_keeps_order_when_nobody_reads_and_drops_what_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BACKLOG", 60_000)
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader.bind(str(tmp_path / "facts"))
    reader.settimeout(30)
    sender = outbox.Outbox(str(tmp_path / "facts"))
    sent = 0
    while not sender.dropped:  # how much a socket holds differs from host to host
        sender.send(sent.to_bytes(4, "big") + bytes(1000))
        sent += 1
    got = [int.from_bytes(reader.recv(2000)[:4], "big") for _ in range(sent - 1)]
    assert got == sorted(got)
    assert threading.active_count() < 10


def test_outbox_without_a_reader_only_counts(tmp_path: Path) -> None:
    sender = outbox.Outbox(str(tmp_path / "nobody"))
    sender.send(b"x")
    assert sender.dropped == 1


@pytest.mark.parametrize("frame", [b"", b"TWSG1", b"OTHER\x02\x00\x00\x00{}", wire.PREFIX.pack(wire.TAG, 2) + b"[]"])
def test_foreign_frames_are_refused(frame: bytes) -> None:
    with pytest.raises(ValueError, match="frame"):
        wire.unpack(frame)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (True, "on"),
        (False, "off"),
        (0.875, "0.875"),
        (3, "3"),
        ("a\r\nx-evil: 1", "a??x-evil: 1"),
        ("é" * 200, "?" * 96),
    ],
)
def test_values_are_fit_for_a_header(value: Any, want: str) -> None:
    assert config.text(value) == want


def test_limits_are_said_for_servers_that_load_no_plugin() -> None:
    assert config.limits(SimpleNamespace(tokenizer_worker_num=1)) == []
    (said,) = config.limits(SimpleNamespace(tokenizer_worker_num=4))
    assert "--tokenizer-worker-num=4" in said


def test_limit_of_the_rust_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from sglang.srt.environ import envs

    if not hasattr(type(envs), "SGLANG_RUST_SERVER"):
        assert config.limits(None) == []  # a release without it
        return
    monkeypatch.setenv("SGLANG_RUST_SERVER", "1")
    (said,) = config.limits(None)
    assert "SGLANG_RUST_SERVER" in said
