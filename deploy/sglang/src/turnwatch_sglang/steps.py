"""What a scheduler knows of the turns it decodes: batch and graph bucket, step by step.

Plain Python on host values. Steps in a row with the same requests and bucket are an epoch.
Epochs stand in one ring for all turns, and a turn only remembers in which epoch it joined,
so that a step costs one comparison of two lists and one look at each request, and a change
of the batch one look-up for each request more. Only a turn's end copies anything.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from turnwatch_sglang.wire import UNKNOWN, WIDTH

EPOCHS = 8192  # epochs that the ring holds
KEEP = 1024  # epochs of a turn handed over one by one; older ones are handed over as one
TURNS = 4096  # unfinished turns kept

Finished = Callable[[Any, "Turn", "array[float]"], None]


class Turn:
    """Turn is one request under way: where it joined, and what became of it before."""

    __slots__ = ("merged", "past", "retractions", "start")

    def __init__(self, start: int) -> None:
        self.start = start  # number of the epoch in which it joined, -1 while it is retracted
        self.past = array("d")  # runs that do not stand in the ring any more, or never did
        self.merged = False  # whether a run of past stands for several
        self.retractions = 0


class Steps:
    """Steps follows the decode steps of one scheduler and hands over each turn as it ends.

    Requests need rid, finished_reason, is_retracted and output_ids. A step is numbered when its result is
    processed. A mixed batch counts as a step with bucket 0 for the turns that decode in it.
    """

    def __init__(self, finished: Finished, clock: Callable[[], float] = time.time) -> None:
        self.finished = finished
        self.clock = clock
        self.step = 0
        self.turns: dict[str, Turn] = {}
        self.evicted = 0
        self.reqs: list[Any] = []  # of the epoch; emptied when no turn is left, to hold on to nothing
        self.bucket = UNKNOWN
        self.epoch = 0  # number of the newest epoch; the first is 1
        self.ring = array("d", bytes(8 * WIDTH * EPOCHS))
        self.at = 0  # offset of the newest epoch in the ring

    def before(self, reqs: Sequence[Any], bucket: float) -> None:
        """Before is told of each decode step ahead of the scheduler's own work on its result."""
        now = self.clock()
        self.step += 1
        if reqs != self.reqs or bucket != self.bucket:
            before, self.reqs = self.reqs, list(reqs)
            self._open(len(reqs), bucket, now)
            self._join()
            if len(self.turns) > len(reqs):
                self._sweep(before)
        self.ring[self.at + 1] = self.step
        self.ring[self.at + 5] = now

    def after(self) -> None:
        """After looks for the turns which the step ended, once the scheduler is through with it."""
        for r in self.reqs:
            if r.finished_reason is not None:
                self._end(r, self.step)
            elif r.is_retracted:
                # Its result was thrown away: the step did not count for it.
                self._retract(r, self.step - 1)
        if not self.turns:
            self.reqs = []

    def before_prefill(self, rows: int, mixed: bool) -> None:
        """Before_prefill makes a prefill in which decoding requests take part a step of theirs."""
        if mixed:
            self.step += 1
            self.reqs = []
            self._open(rows, 0.0, self.clock())

    def after_prefill(self, reqs: Sequence[tuple[Any, int]], mixed: bool) -> None:
        """After_prefill counts the token of a turn that had been retracted, and ends those which are done.

        With each request comes the number of output tokens that it had before.
        """
        for r, made in reqs:
            turn = self.turns.get(r.rid)
            if turn is not None and turn.start < 0 and not mixed and len(r.output_ids) > made:
                now = self.clock()
                turn.past.extend((self.step, self.step, len(reqs), 0.0, now, now))
            if r.finished_reason is not None:
                self.turns.setdefault(r.rid, Turn(-1))
                self._end(r, self.step)

    def _open(self, rows: int, bucket: float, now: float) -> None:
        self.bucket = bucket
        self.epoch += 1
        if self.epoch % (EPOCHS // 2) == 0:
            self._fold(self.epoch - EPOCHS // 2)
        self.at = self.epoch % EPOCHS * WIDTH
        self.ring[self.at : self.at + WIDTH] = array("d", (self.step, self.step, rows, bucket, now, now))

    def _join(self) -> None:
        turns = self.turns
        for r in self.reqs:
            turn = turns.get(r.rid)
            if turn is not None:
                if turn.start < 0 and not r.is_retracted:
                    turn.start = self.epoch
            elif r.finished_reason is None and not r.is_retracted:
                turns[r.rid] = Turn(self.epoch)
        while len(turns) > TURNS:
            del turns[next(iter(turns))]
            self.evicted += 1

    def _sweep(self, before: list[Any]) -> None:
        """_sweep ends the turns that ended outside a step and are in no batch any more."""
        for r in before:
            if r.finished_reason is not None:
                self._end(r, self.step - 1)

    def _end(self, r: Any, last: int) -> None:
        turn = self.turns.pop(r.rid, None)
        if turn is not None:  # else its overshoot: the step that overlap scheduling adds
            self.finished(r, turn, turn.past + self._runs(turn, last))

    def _retract(self, r: Any, last: int) -> None:
        turn = self.turns.get(r.rid)
        if turn is None or turn.start < 0:
            return
        turn.past.extend(self._runs(turn, last))
        turn.start = -1
        turn.retractions += 1
        if len(turn.past) > KEEP * WIDTH:
            turn.past = merge(turn.past)
            turn.merged = True

    def _runs(self, turn: Turn, last: int) -> array[float]:
        """_runs returns the epochs since the turn joined, up to step last."""
        if turn.start < 0:
            return array("d")
        runs = self._slice(max(turn.start, self.epoch - KEEP + 1), self.epoch)
        if self.epoch - turn.start >= KEEP:
            runs = merge(self._slice(turn.start, self.epoch - KEEP)) + runs
            turn.merged = True
        while runs and runs[-WIDTH] > last:
            del runs[-WIDTH:]
        if runs and runs[1 - WIDTH] > last:
            runs[1 - WIDTH] = last
        return runs

    def _slice(self, first: int, last: int) -> array[float]:
        """_slice copies the epochs from first to last, both included, out of the ring."""
        begin, end = first % EPOCHS * WIDTH, (last % EPOCHS + 1) * WIDTH
        return self.ring[begin:end] if begin < end else self.ring[begin:] + self.ring[:end]

    def _fold(self, before: int) -> None:
        """_fold moves what the ring is about to overwrite into the turns that are older than that."""
        for turn in self.turns.values():
            if 0 <= turn.start < before:
                turn.past.extend(merge(self._slice(turn.start, before - 1)))
                turn.start = before
                turn.merged = True


def merge(runs: array[float]) -> array[float]:
    """Merge returns one run in place of many: their span of steps and times, their largest batch and bucket.

    A gap between them, which only a retraction leaves, counts in.
    """
    largest = max(runs[2::WIDTH]), max(runs[3::WIDTH])
    return array("d", (runs[0], runs[1 - WIDTH], *largest, runs[4], runs[-1]))


class Buckets:
    """Buckets tells the padded size that a captured decode graph runs a batch at."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sorted(set(sizes))

    def of(self, batch: int, graph: bool) -> float:
        """Of returns the bucket: 0 without a graph, UNKNOWN where the sizes are not known."""
        if not graph:
            return 0.0
        at = bisect_left(self.sizes, batch)
        return float(self.sizes[at]) if at < len(self.sizes) else UNKNOWN
