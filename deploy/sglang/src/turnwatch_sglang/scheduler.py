"""The part that lives in a scheduler process: hooks on SGLang's own result processing.

Only host-side values are read (lists, integers, strings): nothing here touches a tensor or
waits for a device. Whatever goes wrong switches the hooks off, once and for all, and the
scheduler goes on without them.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from importlib import import_module
from typing import Any

from turnwatch_sglang import config, wire
from turnwatch_sglang.once import notes
from turnwatch_sglang.outbox import Outbox
from turnwatch_sglang.steps import Buckets, Steps, Turn

# Where releases keep the functions that process a batch's result: from 0.5.13, and before.
HOMES = (
    ("sglang.srt.managers.scheduler_components.batch_result_processor", "SchedulerBatchResultProcessor"),
    ("sglang.srt.managers.scheduler_output_processor_mixin", "SchedulerOutputProcessorMixin"),
)
SCHEDULER = "sglang.srt.managers.scheduler.Scheduler.__init__"
# Where releases keep the sizes of the captured decode graphs, below the scheduler.
CAPTURED = (
    "tp_worker.model_runner.decode_cuda_graph_capture_bs",
    "tp_worker.model_runner.decode_cuda_graph_runner.capture_bs",
    "tp_worker.model_runner.graph_runner.capture_bs",
)
PIECE = 8192  # token ids a frame


def dig(root: Any, path: str) -> Any:
    """Dig follows a dotted path of attributes; None where it ends early."""
    for name in path.split("."):
        root = getattr(root, name, None)
        if root is None:
            return None
    return root


class Probe:
    """Probe is what the hooks of one scheduler process share."""

    def __init__(self, outbox: Outbox, keep_tokens: int) -> None:
        self.outbox = outbox
        self.keep_tokens = keep_tokens
        self.steps = Steps(self.finished)
        self.on = True
        self.told = False
        self.scheduler: Any = None
        self.dp_rank = 0
        self.buckets = Buckets([])

    def guard(self, work: Callable[..., None], *args: Any) -> None:
        """Guard runs work and, should it fail, switches the probe off instead of failing the scheduler."""
        try:
            work(*args)
        except Exception as err:
            self.on = False
            notes.say(f"no facts of turns from here on: {work.__name__} failed: {err!r}")

    def started(self, _: Any, scheduler: Any, *args: Any, **kwargs: Any) -> None:
        """Started runs after the scheduler's constructor."""
        self.guard(self._started, scheduler)

    def _started(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        ranks = [self._rank(name) for name in ("attn_tp_rank", "attn_cp_rank", "pp_rank")]
        if any(ranks):
            self.on = False  # the first rank of each group speaks for all
            return
        self.dp_rank = self._rank("dp_rank") or self._rank("attn_dp_rank")
        for limit in config.limits(getattr(scheduler, "server_args", None)):
            notes.say(limit)

    def _rank(self, name: str) -> int:
        for path in (name, f"ps.{name}"):
            found = dig(self.scheduler, path)
            if isinstance(found, int):
                return found
        try:
            found = getattr(import_module("sglang.srt.runtime_context").get_parallel(), name)
        except Exception:
            return 0
        return found if isinstance(found, int) else 0

    def decode(
        self, original: Callable[..., Any], owner: Any, batch: Any, result: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Decode goes around the processing of a decode step's result."""
        if not self.on:
            return original(owner, batch, result, *args, **kwargs)
        self.guard(self._step, batch, result)
        out = original(owner, batch, result, *args, **kwargs)
        if self.on:
            self.guard(self.steps.after)
        return out

    def prefill(
        self, original: Callable[..., Any], owner: Any, batch: Any, result: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Prefill goes around the processing of a prefill's result: the first token is about to leave."""
        if not self.on:
            return original(owner, batch, result, *args, **kwargs)
        live: list[tuple[Any, int]] = []
        mixed = bool(getattr(batch, "decoding_reqs", None))
        self.guard(self._first_token, batch, live, mixed)
        out = original(owner, batch, result, *args, **kwargs)
        if self.on:
            self.guard(self.steps.after_prefill, live, mixed)
        return out

    def _step(self, batch: Any, result: Any) -> None:
        reqs = batch.reqs
        self.steps.before(reqs, self._bucket(len(reqs), result.can_run_cuda_graph, batch))

    def _bucket(self, rows: int, graph: bool, batch: Any) -> float:
        if not graph:
            return 0.0
        across = getattr(batch, "global_num_tokens", None)
        if across:  # data-parallel attention pads every rank to the largest
            if not batch.spec_algorithm.is_none():
                return wire.UNKNOWN
            rows = max(across)
        return self._sizes().of(rows, True)

    def _sizes(self) -> Buckets:
        if not self.buckets.sizes:  # without graphs, or before their capture
            found = next((sizes for path in CAPTURED if (sizes := dig(self.scheduler, path))), ())
            self.buckets = Buckets([int(size) for size in found])
        return self.buckets

    def _first_token(self, batch: Any, live: list[tuple[Any, int]], mixed: bool) -> None:
        live.extend((r, len(r.output_ids)) for r in batch.reqs if r.finished_reason is None and not r.is_retracted)
        rids = [r.rid for r, _ in live]
        self.steps.before_prefill(len(batch.reqs), mixed)
        if not self.told:
            self.told = True
            flags = config.flags()
            self.outbox.send(wire.pack({"k": "flags", "flags": flags, "set": config.set_flags(flags)}))
        running = dig(self.scheduler, "running_batch.reqs")
        decoding = self.steps.turns if running is None else [r.rid for r in running]
        rows = len({*decoding, *rids})
        head: dict[str, Any] = {"k": "head", "dp": self.dp_rank, "step": self.steps.step, "batch": rows}
        sizes = self._sizes().sizes
        graph = bool(sizes) and rows <= sizes[-1]
        head["bucket"] = int(self._sizes().of(rows, graph))
        waiting = dig(self.scheduler, "waiting_queue")
        if waiting is not None:
            head["queue"] = len(waiting)
        for at in range(0, len(rids), 512):
            self.outbox.send(wire.pack({**head, "rids": rids[at : at + 512]}))

    def finished(self, r: Any, turn: Turn, runs: array[float]) -> None:
        """Finished sends a turn's facts, its token ids first where they are kept."""
        length = getattr(r, "finished_len", None)
        made = len(r.output_ids) if length is None else min(length, len(r.output_ids))
        head = {
            "k": "turn",
            "rid": r.rid,
            "dp": self.dp_rank,
            "prompt": len(r.origin_input_ids),
            "completion": made,
            "merged": turn.merged,
            "retractions": max(turn.retractions, getattr(r, "retraction_count", 0) or 0),
            "lost": self.outbox.dropped + self.steps.evicted,
        }
        if self.keep_tokens:
            # With images and the like the prompt has placeholders, which are no tokens.
            plain = getattr(r, "multimodal_inputs", None) is None
            self._ids(r.rid, "input_ids", r.origin_input_ids, plain)
            self._ids(r.rid, "output_ids", r.output_ids[:made], True)
        self.outbox.send(wire.pack(head, runs.tobytes()))

    def _ids(self, rid: str, name: str, ids: Any, plain: bool) -> None:
        """_ids sends all of one side's ids, or only how many there are where they are not to be kept."""
        kept = len(ids) if plain and len(ids) <= self.keep_tokens else 0
        for at in range(0, max(kept, 1), PIECE):
            piece = array("q", ids[at : min(at + PIECE, kept)])
            head = {"k": "ids", "rid": rid, "name": name, "at": at, "of": len(ids)}
            self.outbox.send(wire.pack(head, piece.tobytes()))


def install() -> Probe | None:
    """Install registers the hooks with SGLang's registry, where this release has their targets."""
    path = os.environ.get(config.INBOX, "").partition(":")[2]
    if not path:
        return None
    home = find_home()
    if home is None:
        notes.say("no facts of turns: this SGLang processes batch results in a place unknown to us")
        return None
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    probe = Probe(Outbox(path), config.keep_tokens())
    HookRegistry.register(f"{home}.process_batch_result_decode", probe.decode, HookType.AROUND)
    HookRegistry.register(f"{home}.process_batch_result_prefill", probe.prefill, HookType.AROUND)
    HookRegistry.register(SCHEDULER, probe.started, HookType.AFTER)
    return probe


def find_home() -> str | None:
    """Find_home returns the dotted name of the class that processes batch results."""
    for module, name in HOMES:
        try:
            cls = getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
        if all(hasattr(cls, f"process_batch_result_{kind}") for kind in ("decode", "prefill")):
            return f"{module}.{name}"
    return None
