"""Continuous batching over decode steps: admit, prefill, decode, finish."""

import time
import uuid
from collections import deque
from dataclasses import dataclass, field

import torch

from cache import PagedCache
from decode import DecodeStep, StepOptions
from model import RaceLM, Shape
from template import END

BUCKETS = (1, 2, 4, 8, 16, 32)


def milliseconds() -> float:
    return round(time.time() * 1000, 3)


@dataclass(frozen=True)
class EngineConfig:
    index_dtype: str = "bf16"
    cuda_graph: bool = True
    max_batch: int = 32
    step: StepOptions = StepOptions()


@dataclass
class Turn:
    prompt: list
    max_tokens: int
    rid: str = field(default_factory=lambda: uuid.uuid4().hex)
    output: list = field(default_factory=list)
    pages: list = field(default_factory=list)
    finish: str = ""            # "stop" or "length"
    first_batch: int = 0        # running decode batch when the first token appeared
    first_bucket: int = 0
    runs: list = field(default_factory=list)  # [first step, last step, batch, bucket, row, end of the first, end of the last]
    on_token: object = None     # called with (turn) after each new token

    def note_step(self, step, batch, bucket, row, ended):
        """Notes a decode step, whose result was there at `ended`, in milliseconds since the epoch."""
        if self.runs and self.runs[-1][2:5] == [batch, bucket, row]:
            self.runs[-1][1], self.runs[-1][6] = step, ended
        else:
            self.runs.append([step, step, batch, bucket, row, ended, ended])


def load_model(path, device="cuda") -> RaceLM:
    model = RaceLM(Shape())
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return model.to(device=device, dtype=torch.bfloat16).eval()


class Engine:
    def __init__(self, model: RaceLM, config: EngineConfig, device="cuda", only_bucket=None):
        self.model, self.config, self.device = model, config, device
        self.cache = PagedCache(model.shape, config.max_batch, config.index_dtype, device)
        self.waiting, self.running = deque(), []
        self.steps_done = 0
        self.passes = {"decode_cuda_graph": 0, "decode_none": 0, "prefill_none": 0}
        self.generated = self.prompted = self.finished = 0
        self.started = time.time()
        second = torch.cuda.Stream() if device == "cuda" else None
        self.decoders = {}
        pool = torch.cuda.graph_pool_handle() if config.cuda_graph else None
        buckets = (only_bucket,) if only_bucket else [b for b in BUCKETS if b <= config.max_batch]
        for bucket in sorted(buckets, reverse=True):
            decoder = DecodeStep(model, self.cache, bucket, config.step, second)
            if config.cuda_graph:
                decoder.capture(pool)
            self.decoders[bucket] = decoder
        self.host = {
            b: torch.zeros_like(d.inputs.packed, device="cpu").pin_memory() if device == "cuda"
            else torch.zeros_like(d.inputs.packed) for b, d in self.decoders.items()}

    def submit(self, turn: Turn) -> None:
        self.waiting.append(turn)

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.running)

    def step(self) -> None:
        """Admits what fits, then decodes one token for every running turn."""
        while self.waiting and len(self.running) < self.config.max_batch:
            turn = self.waiting.popleft()
            self.running.append(turn)
            self.prefill(turn)
        if self.running:
            self.decode()

    @torch.no_grad()
    def prefill(self, turn: Turn) -> None:
        turn.pages = self.cache.allocate()
        slots = self.cache.slots(turn.pages, len(turn.prompt))

        def store(layer, k, v, index_k):
            self.cache.store(layer, slots, k[0], v[0])
            self.cache.store_index(layer, slots, index_k[0])

        tokens = torch.tensor([turn.prompt], device=self.device)
        logits, _ = self.model(tokens, sparse=True, on_layer=store, quantize=self.cache.quantize, last_only=True)
        self.passes["prefill_none"] += 1
        self.prompted += len(turn.prompt)
        turn.first_batch = len(self.running)
        turn.first_bucket = self.bucket(len(self.running))
        self.accept(turn, int(logits[0, -1].argmax()))

    def bucket(self, batch: int) -> int:
        return min(b for b in self.decoders if b >= batch)

    def packed_rows(self, bucket: int):
        """Inputs of the next step: last token, its position and the pages of each row."""
        packed = self.host[bucket].zero_()
        packed[:len(self.running)] = torch.tensor(
            [[t.output[-1], len(t.prompt) + len(t.output) - 1, *t.pages] for t in self.running])
        return packed

    def decode(self) -> None:
        batch = len(self.running)
        bucket = self.bucket(batch)
        tokens = self.decoders[bucket].run(self.packed_rows(bucket))
        ended = milliseconds()
        self.passes["decode_cuda_graph" if self.config.cuda_graph else "decode_none"] += 1
        self.steps_done += 1
        for row, (turn, token) in enumerate(zip(list(self.running), tokens)):
            turn.note_step(self.steps_done, batch, bucket, row, ended)
            self.accept(turn, token)

    def accept(self, turn: Turn, token: int) -> None:
        turn.output.append(token)
        self.generated += 1
        room = self.model.shape.max_len - len(turn.prompt) - len(turn.output)
        if token == END:
            turn.finish = "stop"
        elif len(turn.output) >= turn.max_tokens or room <= 0:
            turn.finish = "length"
        if turn.finish:
            self.running.remove(turn)
            self.cache.release(turn.pages)
            self.finished += 1
        if turn.on_token is not None:
            turn.on_token(turn)

