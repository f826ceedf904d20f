"""A scripted engine: SGLang's own processing of batch results, with the GPU left out.

It stands where a scheduler process stands: requests come in, are prefilled one by one and
decoded together, and every step's result goes through SGLang's process_batch_result_*.
Only the tokens are scripted. Nothing here knows of the plugin.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import standins

HOMES = (
    "sglang.srt.managers.scheduler_components.batch_result_processor",
    "sglang.srt.managers.scheduler_output_processor_mixin",
)
VOCABULARY = 1 << 20
BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


class Absent:
    """Absent is a record whose other fields are None."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Sink:
    """Sink takes any call and has any attribute, itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Sink:
        return self

    def __bool__(self) -> bool:
        return False


class Counter(Sink):
    """Counter is a Sink for metrics, which are added to."""

    num_generated_tokens = 0
    forward_ct_decode = 0


class Req(Absent):
    """Req has the fields of a request that result processing reads."""

    def __init__(self, rid: str, prompt: list[int], script: list[int]) -> None:
        super().__init__(rid=rid, origin_input_ids=prompt, script=script, output_ids=[], is_retracted=False)
        self.finished_reason: Any = None
        self.kv = Absent()
        self.time_stats = Sink()
        self.inflight_middle_chunks = self.is_chunked = 0

    def finished(self) -> bool:
        return self.finished_reason is not None

    def update_finish_state(self, _: int = 1) -> None:
        if len(self.output_ids) >= len(self.script):
            self.finished_reason = "stop"

    check_finished = update_finish_state


class Score(Req):
    """Score is a request for log probabilities. SGLang's own bookkeeping fills its fields.

    Releases keep them on the request, or on a part of it: here both are one.
    """

    def __init__(self, rid: str, ids: list[int], start: int, most: int, top: int) -> None:
        super().__init__(rid, ids, [ANSWER] * max(most, 1))
        self.logprob = self
        self.return_logprob, self.is_prefill_only = True, most == 0
        self.logprob_start_len, self.top_logprobs_num = (len(ids) if start == -1 else start), top
        self.most = most
        for name in ("token_logprobs", "top_logprobs", "token_ids_logprobs"):
            setattr(self, f"output_{name}_val", [])
            setattr(self, f"output_{name}_idx", [])

    def told(self) -> dict[str, Any]:
        """told is what SGLang's output streamer takes of a finished request."""
        found = {}
        for name in ("token_logprobs", "top_logprobs", "token_ids_logprobs"):
            for kind in ("val", "idx"):
                found[f"input_{name}_{kind}"] = [getattr(self, f"input_{name}_{kind}")]
                found[f"output_{name}_{kind}"] = [getattr(self, f"output_{name}_{kind}")[: max(self.most, 1)]]
        return found


ANSWER = 9  # the token that a scored request would be answered with
BUSY = 503  # a scored request of this one token meets a full queue
UNDERFLOW = 66  # a token that the model has no number for


def logprob(token: int) -> float:
    """logprob is what the scripted model thinks of any token anywhere: a number that floats hold exactly."""
    return float("nan") if token == UNDERFLOW else -token / 8


class Ids(list[Any]):
    """Ids is a row of numbers on the device, which SGLang turns into a list."""

    def tolist(self) -> list[Any]:
        return list(self)


class Spec:
    """Spec says that no speculative decoding is on."""

    def is_none(self) -> bool:
        return True


def batch_of(reqs: list[Req]) -> Any:
    try:
        from sglang.srt.model_executor.forward_batch_info import get_server_return_hidden_states_mode

        mode = get_server_return_hidden_states_mode()
    except ImportError:
        mode = None
    return Absent(
        reqs=reqs,
        batch_size=lambda: len(reqs),
        spec_algorithm=Spec(),
        return_logprob=False,
        return_hidden_states_mode=mode,
    )


def result_of(ids: list[int], graph: bool) -> Any:
    return Absent(
        next_token_ids=Ids(ids),
        can_run_cuda_graph=graph,
        get_num_generated_tokens=lambda rows: rows,
        num_generated_tokens=len(ids),
    )


def logits_of(r: Score) -> Any:
    """logits_of is what the model runner hands over after a scored prefill: raw rows from its start on."""
    follow = [*r.origin_input_ids[r.logprob_start_len + 1 :], ANSWER]
    follow = follow if r.logprob_start_len < len(r.origin_input_ids) else []
    tops = range(r.top_logprobs_num)
    row_val, row_idx = [logprob(ANSWER + k) for k in tops], [ANSWER + k for k in tops]
    return Absent(
        next_token_logprobs=None if r.is_prefill_only else Ids([logprob(ANSWER)]),
        input_token_logprobs=Ids([logprob(token) for token in follow]),
        input_top_logprobs_val=[[[logprob(token + k) for k in tops] for token in follow]],
        input_top_logprobs_idx=[[[token + k for k in tops] for token in follow]],
        next_token_top_logprobs_val=[Ids(row_val)] if tops else None,
        next_token_top_logprobs_idx=[Ids(row_idx)] if tops else None,
        finalize_input_logprobs=lambda: None,  # the rows are whole
    )


def relative_start(start: int, cached: int, size: int) -> int:
    """relative_start is SGLang's own: where in a prefill behind a cached prefix log probabilities begin."""
    from sglang.srt.managers import schedule_batch

    compute = getattr(schedule_batch, "compute_extend_logprob_start_len", None)
    if compute is not None:
        found: int = compute(
            logprob_start_len=start, prefix_len=cached, extend_len=size - cached, full_untruncated_fill_len=size
        )
        return found
    r = Absent(logprob_start_len=start, fill_ids=[0] * size, prefix_indices=[0] * cached)
    schedule_batch.Req.set_extend_input_len(r, size - cached)
    return int(r.extend_logprob_start_len)


class Processor:
    """Processor is SGLang's own result processing, wherever this release keeps it."""

    def __init__(self, stream: Callable[[list[Req]], None], running: Any = None, waiting: Any = None) -> None:
        from sglang.srt.managers import scheduler

        scheduler.Scheduler.__getattr__ = lambda self, name: Sink()
        self.running = running if running is not None else Absent(reqs=[])
        fields = {
            "running_batch": self.running,
            "waiting_queue": waiting if waiting is not None else [],
            "tp_worker": Absent(model_runner=graphs()),
            "server_args": Absent(tokenizer_worker_num=1),
            "is_generation": True,
            "model_config": Absent(vocab_size=VOCABULARY),
            "enable_overlap": True,
            "enable_overlap_mlx": False,
            "enable_metrics": False,
            "report_decode_stats": Sink(),
            "report_prefill_stats": Sink(),
            "num_generated_tokens": 0,
            "forward_ct_decode": 0,
            "attn_tp_rank": 0,
            "attn_cp_rank": 0,
            "pp_rank": 0,
            "dp_rank": 0,
            "ps": Absent(attn_tp_rank=0, attn_cp_rank=0, pp_rank=0, dp_rank=0),
            "stream_output": lambda reqs, *_: stream(reqs),
        }
        self.scheduler = scheduler.Scheduler(**fields)
        self.target: Any = self.scheduler
        for module in HOMES:
            try:
                home = importlib.import_module(module)
            except ImportError:
                continue
            for name in ("release_kv_cache", "checkpoint_kv_cache", "maybe_cache_unfinished_req"):
                if hasattr(home, name):
                    setattr(home, name, lambda *_, **__: None)
            cls = getattr(home, "SchedulerBatchResultProcessor", None)
            if cls is not None:
                self.target = cls(**self._arguments(cls, fields, stream))

    def _arguments(self, cls: Any, fields: dict[str, Any], stream: Callable[[list[Req]], None]) -> dict[str, Any]:
        given = {f.name: fields.get(f.name, Sink()) for f in dataclasses.fields(cls)}
        given["metrics_reporter"] = Counter()
        with contextlib.suppress(ImportError):
            scores = importlib.import_module("sglang.srt.managers.scheduler_components.logprob_result_processor")
            given["logprob_result_processor"] = scores.SchedulerLogprobResultProcessor(
                model_config=fields["model_config"]
            )
        given["output_streamer"] = Absent(stream_output=lambda reqs, *_: stream(reqs))
        return given

    def prefill(self, reqs: list[Req]) -> None:
        ids = [r.script[len(r.output_ids)] for r in reqs]
        self.target.process_batch_result_prefill(batch_of(reqs), result_of(ids, False))

    def score(self, r: Score, cached: int) -> None:
        """score is the prefill of a request for log probabilities, behind a cached prefix."""
        batch, result = batch_of([r]), result_of([0 if r.is_prefill_only else ANSWER], False)
        batch.return_logprob = True
        result.logits_output = logits_of(r)
        size = len(r.origin_input_ids)
        result.extend_input_len_per_req = [size - cached]
        result.extend_logprob_start_len_per_req = [relative_start(r.logprob_start_len, cached, size)]
        self.target.process_batch_result_prefill(batch, result)

    def decode(self, reqs: list[Req], graph: bool = True) -> None:
        ids = [r.script[min(len(r.output_ids), len(r.script) - 1)] for r in reqs]
        self.target.process_batch_result_decode(batch_of(reqs), result_of(ids, graph))


def graphs() -> Any:
    """graphs is a model runner with captured decode graphs, under every name that releases use."""
    runner = Absent(capture_bs=BUCKETS)
    return Absent(decode_cuda_graph_capture_bs=BUCKETS, decode_cuda_graph_runner=runner, graph_runner=runner)


def prepare() -> None:
    """prepare gives this process what a scheduler process has before its first step."""
    import sglang.srt.managers.scheduler as scheduler
    from sglang.srt.server_args import ServerArgs

    def build(self: Any, **fields: Any) -> None:
        self.__dict__.update(fields)

    scheduler.Scheduler.__init__ = build
    args = ServerArgs(model_path="dummy", device="cpu")
    try:
        from sglang.srt.runtime_context import publish
    except ImportError:
        from sglang.srt.server_args import set_global_server_args_for_scheduler as publish

        publish(args)
    else:
        try:
            publish(args, role="scheduler")
        except TypeError:
            publish(args)


class Line:
    """Line is the engine's end of the pipe: what it sends is taken in step with the HTTP process.

    So every token becomes an event of its own, on the slowest machine as on the fastest.
    """

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.owed = 0
        self.sent: dict[str, int] = {}
        self.waiting: list[Any] = []

    def stream(self, reqs: list[Req]) -> None:
        for r in reqs:
            new = r.output_ids[self.sent.get(r.rid, 0) :]
            if new and not isinstance(r, Score):  # which is answered whole
                self.sent[r.rid] = len(r.output_ids)
                self.pipe.send((r.rid, list(new), len(r.output_ids), r.finished_reason))
                self.owed += 1

    def score(self, r: Score, processor: Processor) -> None:
        """score answers a request for log probabilities, or turns it away as SGLang's scheduler does."""
        size = len(r.origin_input_ids)
        refused: dict[str, Any] = {}
        if r.origin_input_ids == [BUSY]:
            refused = {"status_code": 503, "message": "The request queue is full."}
        elif r.logprob_start_len > size:
            text = f"req.logprob_start_len={r.logprob_start_len} is higher than the number of input tokens "
            text += f"len(req.origin_input_ids)={size}. Please use a smaller logprob_start_len."
            refused = {"status_code": 400, "message": text, "err_type": None}
        if refused:
            self._answer(r, [], {"type": "abort", **refused}, {}, 0)
            return
        cached = min(r.logprob_start_len, size - 1)  # all that SGLang lets the cache give
        processor.score(r, cached)
        ids = r.output_ids[: r.most]
        self._answer(r, ids, {"type": "length", "length": r.most}, r.told(), cached)

    def _answer(self, r: Score, ids: list[int], finish: Any, told: dict[str, Any], cached: int) -> None:
        details = {"device": cached, "host": 0} if cached else None
        told = {**told, "cached_tokens": [cached], "cached_tokens_details": [details], "dp_ranks": [None]}
        self.pipe.send((r.rid, ids, len(ids), finish, told))
        self.owed += 1
        self.settle()

    def settle(self) -> None:
        while self.owed:
            message = self.pipe.recv()
            if message == "ack":
                self.owed -= 1
            else:
                self.waiting.append(message)

    def messages(self, block: bool) -> list[Any]:
        while self.pipe.poll(None if block and not self.waiting else 0):
            self.waiting.append(self.pipe.recv())
        found, self.waiting = self.waiting, []
        return found


def abort(running: list[Req], rid: str) -> None:
    """abort has a request end with its next step, as the scheduler does."""
    for r in running:
        if r.rid == rid:
            r.script = r.script[: len(r.output_ids) + 1]


def serve(pipe: Connection, pace: float) -> None:
    """serve is a scheduler process: it lives as long as its parent."""
    standins.install()
    prepare()
    from sglang.srt.plugins import load_plugins

    load_plugins()
    line = Line(pipe)
    live = Absent(reqs=[])
    processor = Processor(line.stream, live)
    pipe.send("ready")
    while True:
        for message in line.messages(block=not live.reqs):
            if isinstance(message, str):
                abort(live.reqs, message)
                continue
            if isinstance(message, dict):
                line.score(Score(**message), processor)
                continue
            r = Req(*message)
            processor.prefill([r])
            line.settle()
            live.reqs = live.reqs if r.finished() else [*live.reqs, r]
        if live.reqs:
            processor.decode(live.reqs)
            line.settle()
            live.reqs = [r for r in live.reqs if not gone(r)]
        time.sleep(pace)  # the GPU's part of a step


def gone(r: Req) -> bool:
    """gone leaves a finished request in one batch more, as overlap scheduling does."""
    if not r.finished():
        return False
    r.overshoot = bool(r.overshot)
    r.overshot = True
    return bool(r.overshoot)
