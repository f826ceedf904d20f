"""What the hook costs a decode step, without SGLang and without a GPU.

Run: python bench.py (with the package installed). Each figure is the time of a step with the
hook around an empty function less that of a step without, in CPU time of the thread, so that
others on the machine do not count; the median of several rounds.
"steady": nobody comes or goes. "churn": in every step one request ends and another joins,
its facts being sent, which is more than a server does at its busiest. "ids": the same with
TURNWATCH_KEEP_TOKENS=1, for turns of 2,048 tokens in and 256 out, which newer releases keep as
arrays and older ones as lists.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import threading
import time
from array import array
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from turnwatch_sglang.outbox import Outbox
from turnwatch_sglang.scheduler import Probe
from turnwatch_sglang.steps import Buckets

ROUNDS = 15
KEPT = 65536  # the default of TURNWATCH_KEEP_TOKENS_MAX


PROMPT, OUTPUT = [7] * 2048, [7] * 256
Kind = Callable[[list[int]], Any]


def request(number: int, kind: Kind) -> Any:
    return SimpleNamespace(
        rid=f"{number:032x}",
        finished_reason=None,
        is_retracted=False,
        output_ids=kind(OUTPUT),
        origin_input_ids=kind(PROMPT),
    )


def as_array(ids: list[int]) -> Any:
    return array("q", ids)


def nothing(_owner: Any, _batch: Any, _result: Any) -> None:
    return None


def steady(probe: Probe | None, size: int, count: int, kind: Kind = list) -> float:
    """steady returns nanoseconds a step while the batch stays as it is."""
    reqs = [request(i, kind) for i in range(size)]
    batch = SimpleNamespace(reqs=reqs, global_num_tokens=None)
    result = SimpleNamespace(can_run_cuda_graph=True)
    begin = time.thread_time_ns()
    for _ in range(count):
        batch.reqs = reqs[:]  # as overlap scheduling does
        if probe is None:
            nothing(None, batch, result)
        else:
            probe.decode(nothing, None, batch, result)
    return (time.thread_time_ns() - begin) / count


def churn(probe: Probe | None, size: int, count: int, kind: Kind = list) -> float:
    """churn returns nanoseconds a step while one request ends and one joins in each."""
    pool = [request(i, kind) for i in range(size + count)]
    result = SimpleNamespace(can_run_cuda_graph=True)
    batch = SimpleNamespace(reqs=[], global_num_tokens=None)

    def last(_owner: Any, now: Any, _result: Any) -> None:
        now.reqs[0].finished_reason = "stop"

    begin = time.thread_time_ns()
    for at in range(count):
        batch.reqs = pool[at : at + size]
        if probe is None:
            last(None, batch, result)
        else:
            probe.decode(last, None, batch, result)
    return (time.thread_time_ns() - begin) / count


def main() -> None:
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "facts")
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader.bind(path)

    def read() -> None:
        while reader.recv(1 << 18) != b"end":
            pass

    thread = threading.Thread(target=read)
    thread.start()
    scenes: list[tuple[str, Any, int, Kind]] = [
        ("steady", steady, 0, list),
        ("steady, ids", steady, KEPT, list),
        ("churn", churn, 0, list),
        ("churn, ids", churn, KEPT, as_array),
        ("churn, ids in lists", churn, KEPT, list),
    ]
    print("ns/step", *(f"{name:>20}" for name, *_ in scenes))
    for size in (1, 32, 256):
        figures = []
        for _, scene, kept, kind in scenes:
            count = 20000 // max(1, size // 8) if scene is steady else 1000 // max(1, size // 64)
            rounds = []
            for _ in range(ROUNDS):
                probe = Probe(Outbox(path), kept)
                probe.buckets = Buckets([1, 2, 4, 8, 16, 32, 64, 128, 256])
                rounds.append(scene(probe, size, count, kind) - scene(None, size, count, kind))
                assert probe.on
            figures.append(statistics.median(rounds))
        print(f"{size:>7}", *(f"{figure:>20.0f}" for figure in figures))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.sendto(b"end", path)
    thread.join()
    reader.close()
    os.unlink(path)
    os.rmdir(folder)


if __name__ == "__main__":
    main()
