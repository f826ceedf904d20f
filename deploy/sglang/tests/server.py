"""SGLang's own HTTP server, tokenizer manager and chat serving over the scripted engine.

Run as a program: python server.py PORT [api-key]. The engine is a process of its own, as
the scheduler is, and the plugin comes in by SGLang's loader, or not at all when
SGLANG_PLUGINS leaves it out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import multiprocessing
import re
import sys
import time
from typing import Any

import standins
from engine import Absent, Sink, serve

standins.install()

PACE = 0.002  # seconds a step takes
MATCHED: int | None = None  # the token by which a model ends what it says
WORDS = re.compile(r"\s*\S{1,4}")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'


class Tokenizer:
    """Tokenizer has a token for every piece of text it has seen."""

    chat_template = "{{ messages }}"
    eos_token_id = bos_token_id = pad_token_id = None
    eos_token = bos_token = ""
    additional_stop_token_ids = None

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ids: dict[str, int] = {}

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [self.id(piece) for piece in WORDS.findall(text)]

    def id(self, piece: str) -> int:
        if piece not in self.ids:
            self.ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self.ids[piece]

    def decode(self, ids: Any, **_: Any) -> str:
        return "".join(self.pieces[i] if i < len(self.pieces) else f"<{i}>" for i in ids)

    def batch_decode(self, rows: Any, **_: Any) -> list[str]:
        return [self.decode(row if isinstance(row, list) else [row]) for row in rows]

    def apply_chat_template(self, messages: Any, tokenize: bool = True, **_: Any) -> Any:
        text = " ".join(str(m.get("content")) for m in messages)
        return self.encode(text) if tokenize else text

    def get_added_vocab(self) -> dict[str, int]:
        return {}


def script(prompt: str) -> str:
    """script returns what the model says to a prompt."""
    if "weather" in prompt:
        return "I will check. " + CALL
    if "endless" in prompt:
        return "on and on " * 2000
    return "The answer is forty-two, as everybody knows."


class ModelConfig(standins.standin("ModelConfig")):  # type: ignore[misc]
    """ModelConfig describes a small text model."""

    is_generation = True
    is_multimodal = False
    context_len = 1 << 20
    image_token_id = joint_head_config = pointer_head = None
    vocab_size = 1 << 20

    def __init__(self) -> None:
        told = {"architectures": ["Scripted"], "model_type": "scripted", "id2label": {0: "a", 1: "b"}}
        self.hf_config = type("HF", (), told)()
        self.hf_eos_token_id: set[int] = set()

    def get_default_sampling_params(self) -> dict[str, Any]:
        return {}


def manager_class() -> Any:
    from sglang.srt.managers.io_struct import AbortReq, BatchStrOutput
    from sglang.srt.managers.tokenizer_manager import TokenizerManager

    required = (
        [f.name for f in dataclasses.fields(BatchStrOutput)]
        if dataclasses.is_dataclass(BatchStrOutput)
        else list(BatchStrOutput.__struct_fields__)
    )

    class Manager(TokenizerManager):  # type: ignore[misc]
        """Manager is SGLang's tokenizer manager with the engine at the other end of a pipe."""

        def init_model_config(self) -> None:
            self.model_path = self.served_model_name = "scripted"
            self.model_config = ModelConfig()
            self.is_generation = True
            self.context_len = self.model_config.context_len
            self.image_token_id = None
            self.max_req_input_len = 1 << 20
            self.enable_priority_scheduling = False
            self.default_priority_value = None
            self.num_reserved_tokens = 0
            self.validate_total_tokens = True

        def init_tokenizer_and_processor(self) -> None:
            self.tokenizer = Tokenizer()
            self.mm_processor = self.processor = self.async_dynamic_batch_tokenizer = None

        def start(self, pipe: Any) -> None:
            self.pipe = pipe
            self.aborted: list[str] = []

        def auto_create_handle_loop(self) -> None:
            if self.event_loop is None:
                self.event_loop = asyncio.get_running_loop()
                self.event_loop.add_reader(self.pipe.fileno(), self.read)

        def read(self) -> None:
            while self.pipe.poll():
                task = asyncio.ensure_future(self.take(*self.pipe.recv()))
                self.asyncio_tasks.add(task)
                task.add_done_callback(self.asyncio_tasks.discard)

        async def take(self, rid: str, ids: list[int], made: int, finished: Any, more: Any = None) -> None:
            """take hands a token over and says so once the request's own task has picked it up."""
            state = self.rid_to_state.get(rid)
            await self._handle_batch_output(self.output(rid, ids, made, finished, more or {}))
            until = time.monotonic() + 1
            while state is not None and state.event.is_set() and time.monotonic() < until:
                if self.rid_to_state.get(rid) is not state and not state.finished:
                    break  # the client has gone
                await asyncio.sleep(0)
            self.pipe.send("ack")

        def output(self, rid: str, ids: list[int], made: int, finished: Any, more: dict[str, Any]) -> Any:
            state = self.rid_to_state.get(rid)
            prompt = state.obj.prompt_length if state is not None else 0
            reason = finished if isinstance(finished, dict) else {"type": "stop", "matched": MATCHED}
            told = {
                "rids": [rid],
                "finished_reasons": [reason if finished else None],
                "output_strs": [self.tokenizer.decode(ids)],
                "output_ids": [ids],
                "prompt_tokens": [prompt],
                "completion_tokens": [made],
                "reasoning_tokens": [0],
                "cached_tokens": [0],
                "retraction_counts": [0],
                **more,
            }
            return BatchStrOutput(**{name: told.get(name) for name in required})

        async def _tokenize_one_request(self, obj: Any) -> Any:
            if obj.return_logprob:  # all of it is SGLang's
                obj.prompt_length = len(obj.input_ids)
                return await super()._tokenize_one_request(obj)
            ids = obj.input_ids or self.tokenizer.encode(obj.text)
            obj.prompt_length = len(ids)
            text = script(self.tokenizer.decode(ids))
            said = self.tokenizer.encode(text)
            return Absent(rid=obj.rid, ids=list(ids), script=said, sampling_params=Absent(), time_stats=Sink())

        def _send_one_request(self, tokenized: Any) -> Any:
            self.pipe.send(question(tokenized))
            mark = getattr(self, "_mark_state_dispatched", None)
            if mark is not None:  # releases that abort only what the scheduler has
                mark(tokenized.rid)
            return Done()

        def tell(self, message: Any) -> None:
            if isinstance(message, AbortReq):
                self.aborted.append(message.rid)
                print(f"ABORT {message.rid}", file=sys.stderr, flush=True)
                self.pipe.send(message.rid)

        def _dispatch_to_scheduler(self, message: Any) -> None:
            self.tell(message)

    return Manager


def question(tokenized: Any) -> Any:
    """question is what the engine is sent of a request."""
    if isinstance(tokenized, Absent):
        return tokenized.rid, tokenized.ids, tokenized.script
    return {
        "rid": tokenized.rid,
        "ids": list(tokenized.input_ids),
        "start": tokenized.logprob_start_len,
        "most": tokenized.sampling_params.max_new_tokens,
        "top": tokenized.top_logprobs_num,
    }


class Done:
    """Done is a coroutine for the releases that await the sending, and nothing for those that do not."""

    def __await__(self) -> Any:
        return iter(())


class Templates:
    """Templates stands for SGLang's template manager: the tokenizer's own template is used."""

    chat_template_name = completion_template_name = None
    jinja_template_content_format = "string"
    force_reasoning = False
    reasoning_config = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def main(port: int, api_key: str | None, **parsers: str) -> None:
    from sglang.srt.plugins import load_plugins

    load_plugins()  # as SGLang's launcher does, ahead of the HTTP server's import
    from sglang.srt.entrypoints import http_server
    from sglang.srt.server_args import PortArgs, ServerArgs

    args = ServerArgs(
        model_path="dummy", host="127.0.0.1", port=port, api_key=api_key, device="cpu", skip_server_warmup=True,
        log_level="warning", **(parsers or {"tool_call_parser": "qwen25"}),
    )  # fmt: skip
    try:
        from sglang.srt.runtime_context import publish
    except ImportError:
        pass
    else:
        publish(args, role="tokenizer") if "role" in inspect.signature(publish).parameters else publish(args)
    ports = PortArgs.init_new(args)
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=serve, args=(theirs, PACE), daemon=True)
    worker.start()
    if ours.recv() != "ready":
        raise SystemExit("the engine did not start")
    manager = manager_class()(args, ports)
    manager.start(ours)
    manager.send_to_scheduler = type("Sender", (), {"send_pyobj": lambda _, m, *a: manager.tell(m)})()
    http_server._setup_and_run_http_server(args, manager, Templates(), ports, [{"startup_time": {}}], None)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
