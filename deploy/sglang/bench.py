"""What the hook costs a decode step, without SGLang and without a GPU.

Run: python bench.py (with the package installed). Each figure is the time of a step with the
hook around an empty function less that of a step without, in CPU time of the thread, so that
others on the machine do not count; the median of several rounds.
"steady": nobody comes or goes. "churn": in every step one request ends and another joins,
its facts being sent, which is more than a server does at its busiest.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import threading
import time
from types import SimpleNamespace
from typing import Any

from turnwatch_sglang.outbox import Outbox
from turnwatch_sglang.scheduler import Probe
from turnwatch_sglang.steps import Buckets

ROUNDS = 15


def request(number: int) -> Any:
    return SimpleNamespace(
        rid=f"{number:032x}", finished_reason=None, is_retracted=False, output_ids=[0] * 8, origin_input_ids=[0] * 64
    )


def nothing(_owner: Any, _batch: Any, _result: Any) -> None:
    return None


def steady(probe: Probe | None, size: int, count: int) -> float:
    """steady returns nanoseconds a step while the batch stays as it is."""
    reqs = [request(i) for i in range(size)]
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


def churn(probe: Probe | None, size: int, count: int) -> float:
    """churn returns nanoseconds a step while one request ends and one joins in each."""
    pool = [request(i) for i in range(size + count)]
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
    print(f"{'batch':>6} {'steady ns/step':>16} {'churn ns/step':>16}")
    for size in (1, 32, 256):
        figures = []
        for scene, count in ((steady, 20000 // max(1, size // 8)), (churn, 2000 // max(1, size // 64))):
            rounds = []
            for _ in range(ROUNDS):
                probe = Probe(Outbox(path), 0)
                probe.buckets = Buckets([1, 2, 4, 8, 16, 32, 64, 128, 256])
                rounds.append(scene(probe, size, count) - scene(None, size, count))
                assert probe.on
            figures.append(statistics.median(rounds))
        print(f"{size:>6} {figures[0]:>16.0f} {figures[1]:>16.0f}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.sendto(b"end", path)
    thread.join()
    reader.close()
    os.unlink(path)
    os.rmdir(folder)


if __name__ == "__main__":
    main()
