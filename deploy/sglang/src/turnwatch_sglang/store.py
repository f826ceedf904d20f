"""What the HTTP process keeps of turns: those under way, and those done for a while."""

from __future__ import annotations

import time
from array import array
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from turnwatch_sglang.wire import RUN, UNKNOWN, WIDTH

LIVE = 8192  # turns under way
DONE = 8192  # finished turns
STALE = 3600  # seconds after which a turn that never ended is forgotten
BYTES = 64 << 20  # of finished turns and token ids
IDS = 48 << 20  # of token ids alone: older ones go first, the facts beside them stay
PEERS = 64  # rids named as a turn's company
TIMES = frozenset({"t0_ms", "t1_ms"})


@dataclass
class Live:
    """Live is what was known of a turn at its first token."""

    dp: int
    step: int
    batch: int
    bucket: int
    queue: int | None
    at: float


@dataclass
class Done:
    """Done is a finished turn as its scheduler sent it."""

    head: dict[str, Any]
    live: Live | None
    runs: bytes
    at: float
    start: float  # first and last step, for finding its peers
    end: float
    ids: dict[str, Ids]
    size: int  # without its ids


@dataclass
class Ids:
    """Ids gathers the pieces of one side's token ids: all of them, or none to be told."""

    of: int = 0
    values: array[int] = field(default_factory=lambda: array("q"))


def held(sides: dict[str, Ids]) -> int:
    """Held returns the bytes of a turn's token ids."""
    return sum(8 * len(side.values) for side in sides.values())


class Store:
    """Store belongs to the HTTP process's event loop; everything in it is bounded by number, size and age."""

    def __init__(self, keep_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.keep = keep_seconds
        self.clock = clock
        self.live: OrderedDict[str, Live] = OrderedDict()
        self.done: OrderedDict[str, Done] = OrderedDict()
        self.ids: OrderedDict[str, dict[str, Ids]] = OrderedDict()  # of turns not yet done
        self.holders: OrderedDict[str, None] = OrderedDict()  # finished turns with ids, oldest first
        self.size = 0  # of finished turns and all ids
        self.held = 0  # of all ids
        self.lost = 0  # turns that a scheduler could not hand over
        self.heard = False  # whether any scheduler has reported yet

    def head(self, head: dict[str, Any]) -> None:
        """Head takes the state of a scheduler at the first token of some turns."""
        queue = head.get("queue")
        made = Live(head["dp"], head["step"], head["batch"], head["bucket"], queue, self.clock())
        for rid in head["rids"]:
            self.live[rid] = made
        self.heard = True
        self._trim()

    def tokens(self, head: dict[str, Any], body: bytes) -> None:
        """Tokens takes a piece of a turn's token ids; one out of order is dropped."""
        sides = self.ids.setdefault(head["rid"], {})
        side = sides.setdefault(head["name"], Ids(head["of"]))
        if head["at"] == len(side.values):
            side.values.frombytes(body)
            self._hold(len(body))
        self._trim()

    def turn(self, head: dict[str, Any], body: bytes) -> None:
        """Turn takes a finished turn."""
        rid = head["rid"]
        live = self.live.pop(rid, None)
        ids = self.ids.pop(rid, {})
        self._drop(self.done.pop(rid, None))
        runs = array("d")
        runs.frombytes(body)
        start = live.step if live else runs[0] if runs else 0
        end = runs[-WIDTH + 1] if runs else start
        size = len(body) + 512
        self.done[rid] = Done(head, live, body, self.clock(), start, end, ids, size)
        self.size += size
        if ids:
            self.holders[rid] = None
        self.heard = True
        self.lost = max(self.lost, head.get("lost", 0))
        self._trim()

    def first(self, rid: str) -> Live | None:
        """First returns what was known at a turn's first token."""
        done = self.done.get(rid)
        return done.live if done else self.live.get(rid)

    def facts(self, rid: str, with_ids: bool) -> dict[str, Any] | None:
        """Facts returns what the facts route answers for a finished turn, None for any other."""
        done = self.done.get(rid)
        if done is None:
            return None
        head = done.head
        decoded = runs(done.runs)
        found: dict[str, Any] = {
            "rid": rid,
            "prompt_tokens": head["prompt"],
            "completion_tokens": head["completion"],
            "cuda_graph": any(run.get("bucket") != 0 for run in decoded),
            "dp_rank": head["dp"],
            "decode_runs": decoded,
            "retractions": head["retractions"],
            "peers": self.peers(rid, done),
        }
        if head["merged"]:
            found["merged"] = True  # the first run stands for several: largest batch, right length
        for name, side in done.ids.items() if with_ids else ():
            if len(side.values) == side.of:
                found[name] = list(side.values)
            else:
                found[f"{name}_of"] = side.of  # left out: half a list would mislead
        return found

    def peers(self, rid: str, done: Done) -> list[str]:
        """Peers returns the turns that the same scheduler decoded in the same steps, at most PEERS."""
        rank = done.head["dp"]
        found = [r for r, t in self.live.items() if t.dp == rank and t.step <= done.end]
        for other, t in reversed(self.done.items()):
            if t.head["dp"] != rank:
                continue
            if len(found) >= PEERS or t.end < done.start:
                break  # a scheduler's turns stand in the order of their ends
            if other != rid and t.start <= done.end:
                found.append(other)
        return found[:PEERS]

    def _hold(self, size: int) -> None:
        self.held += size
        self.size += size

    def _drop(self, done: Done | None) -> None:
        if done is not None:
            self.size -= done.size
            self._release(done)
            self.holders.pop(done.head["rid"], None)

    def _release(self, done: Done) -> None:
        """_release lets go of a turn's ids, and keeps how many they were."""
        self._hold(-held(done.ids))
        for side in done.ids.values():
            side.values = array("q")

    def _trim(self) -> None:
        now = self.clock()
        # A turn's ids come right before its facts: those still without, but the newest, were left behind.
        while len(self.ids) > 1 and (len(self.ids) > LIVE or self.held > IDS):
            self._hold(-held(self.ids.popitem(last=False)[1]))
        while self.holders and self.held > IDS:
            self._release(self.done[self.holders.popitem(last=False)[0]])
        while self.live and (len(self.live) > LIVE or next(iter(self.live.values())).at < now - STALE):
            self.live.popitem(last=False)
        while self.done:
            first = next(iter(self.done.values()))
            if len(self.done) <= DONE and self.size <= BYTES and first.at >= now - self.keep:
                break
            self._drop(self.done.popitem(last=False)[1])


def runs(body: bytes) -> list[dict[str, Any]]:
    """Runs spells the numbers of a turn's runs as JSON wants them, those that only go on joined to one.

    Times are milliseconds since the epoch; a bucket that is not known is left out.
    """
    numbers = array("d")
    numbers.frombytes(body)
    found: list[dict[str, Any]] = []
    for at in range(0, len(numbers), WIDTH):
        values = zip(RUN, numbers[at : at + WIDTH], strict=True)
        run = {name: round(value * 1000, 3) if name in TIMES else int(value) for name, value in values}
        if run["bucket"] == UNKNOWN:
            del run["bucket"]
        last = found[-1] if found else {}
        same = last.get("batch") == run["batch"] and last.get("bucket") == run.get("bucket")
        if same and last["last_step"] == run["first_step"] - 1:
            last.update(last_step=run["last_step"], t1_ms=run["t1_ms"])
        else:
            found.append(run)
    return found
