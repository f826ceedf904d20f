"""OpenAI-compatible front end of the engine.

    python server.py --index-dtype bf16 --cuda-graph on --overlap on --max-batch 32
"""

import argparse
import asyncio
import json
import os
import time
from collections import OrderedDict

from aiohttp import web

import wire
from decode import StepOptions
from engine import BUCKETS, Engine, EngineConfig, Turn, load_model
from markup import StreamParser, parse_whole
from template import END, render_prompt, token_text

VERSION = "racelm-0.1"
MODEL = "racelm"
MAX_TOKENS = 160
REMEMBERED_TURNS = 4096
FACTS = "/turnwatch/turns"
RUN = ("first_step", "last_step", "batch", "bucket", "row", "t0_ms", "t1_ms")


def visible(tokens) -> str:
    return "".join(token_text(t) for t in tokens if t != END)


class Server:
    def __init__(self, engine: Engine, stream_interval=4):
        self.engine, self.stream_interval = engine, stream_interval
        self.turns = OrderedDict()
        self.work = asyncio.Event()
        self.app = web.Application(client_max_size=64 << 20)
        self.app.add_routes([
            web.post("/v1/chat/completions", self.chat),
            web.get(FACTS + "/{rid}", self.turn_facts),
            web.get("/health", self.ping),
            web.get("/v1/models", self.models),
            web.get("/server_info", self.server_info),
            web.get("/model_info", self.model_info),
            web.get("/v1/loads", self.loads),
            web.get("/metrics", self.metrics),
            web.get("/ping", self.ping),
        ])

    async def run_engine(self):
        """Steps the engine for as long as there is work; handlers run between steps."""
        while True:
            if not self.engine.busy:
                self.work.clear()
                await self.work.wait()
            self.engine.step()
            await asyncio.sleep(0)

    # -- turns -----------------------------------------------------------

    async def chat(self, request):
        try:
            body = await request.json()
            messages, tools = body["messages"], body.get("tools") or []
            prompt = render_prompt(messages, tools)
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            return web.json_response(wire.error(f"unreadable request: {e}"), status=400, dumps=wire.dumps)
        if len(prompt) + 8 > self.engine.model.shape.max_len:
            return web.json_response(wire.error(f"prompt has {len(prompt)} tokens, too many"), status=400, dumps=wire.dumps)
        names = [t["function"]["name"] for t in tools]
        turn = self.start(prompt, body)
        if body.get("stream"):
            return await self.stream(request, body, turn, names)
        async for _ in self.pieces(turn):
            pass
        content, calls = parse_whole(visible(turn.output), names) if names else (visible(turn.output), [])
        answer = wire.whole(turn.rid, body.get("model", MODEL), content, calls, turn.finish, len(turn.prompt), len(turn.output))
        return web.json_response(answer, headers=self.headers(turn), dumps=wire.dumps)

    def start(self, prompt, body) -> Turn:
        turn = Turn(prompt, body.get("max_completion_tokens") or body.get("max_tokens") or MAX_TOKENS)
        turn.fresh = asyncio.Event()
        turn.on_token = lambda t: t.fresh.set()
        self.turns[turn.rid] = turn
        while len(self.turns) > REMEMBERED_TURNS:
            self.turns.popitem(last=False)
        self.engine.submit(turn)
        self.work.set()
        return turn

    async def pieces(self, turn):
        """Yields the text of a turn as it grows, stream_interval tokens at a time."""
        sent = 0
        while True:
            await turn.fresh.wait()
            turn.fresh.clear()
            ready = len(turn.output) - sent
            if ready and (turn.finish or ready >= self.stream_interval or sent == 0):
                yield visible(turn.output[sent:])
                sent = len(turn.output)
            if turn.finish:
                return

    async def stream(self, request, body, turn, names):
        out = wire.Stream(turn.rid, body.get("model", MODEL), bool(names))
        parser = StreamParser(names) if names else None
        response = None
        async for text in self.pieces(turn):
            if response is None:  # headers leave with the first token
                response = web.StreamResponse(headers={
                    "Content-Type": "text/event-stream; charset=utf-8", **self.headers(turn)})
                response.enable_chunked_encoding()
                await response.prepare(request)
                await response.write(out.role())
            for event in self.events(out, parser, text):
                await response.write(event)
        for delta in parser.finish() if parser else []:
            await response.write(out.delta(delta))
        await response.write(out.finish(turn.finish))
        if (body.get("stream_options") or {}).get("include_usage"):
            await response.write(out.usage(len(turn.prompt), len(turn.output)))
        await response.write(wire.DONE)
        await response.write_eof()
        return response

    def events(self, out, parser, text):
        if parser is None:
            return [out.delta(wire.Delta(content=text))] if text else []
        return [out.delta(d) for d in parser.feed(text)]

    def headers(self, turn) -> dict:
        config = self.engine.config
        return {
            "Server": VERSION,
            "x-sglang-version": VERSION,
            "x-sglang-rid": turn.rid,
            "x-sglang-turn-facts": FACTS,
            **wire.configuration(config),
            "x-sglang-batch-size": str(turn.first_batch),
            "x-sglang-graph-bucket": str(turn.first_bucket if config.cuda_graph else 0),
            "x-sglang-queue-depth": str(len(self.engine.waiting)),
        }

    # -- facts -----------------------------------------------------------

    async def turn_facts(self, request):
        turn = self.turns.get(request.match_info["rid"])
        if turn is None:
            return web.json_response(wire.error("unknown rid", 404), status=404)
        return web.json_response({
            "rid": turn.rid,
            "prompt_tokens": len(turn.prompt),
            "completion_tokens": len(turn.output),
            "finish": turn.finish,
            "native_text": visible(turn.output),
            "first_token": {"batch": turn.first_batch, "bucket": turn.first_bucket},
            "decode_runs": [dict(zip(RUN, run)) for run in turn.runs],
            "cuda_graph": self.engine.config.cuda_graph,
            **self.tokens(turn),
        })

    def tokens(self, turn) -> dict:
        """The token ids themselves, for who asked for them in the environment."""
        if os.environ.get("TURNWATCH_KEEP_TOKENS") != "1":
            return {}
        return {"input_ids": turn.prompt, "output_ids": turn.output}

    def load(self) -> dict:
        engine = self.engine
        used = sum(len(t.prompt) + len(t.output) for t in engine.running)
        total = engine.config.max_batch * engine.model.shape.max_len
        return {
            "timestamp": time.time(), "dp_rank": 0,
            "num_running_reqs": len(engine.running), "num_waiting_reqs": len(engine.waiting),
            "num_used_tokens": used, "num_total_tokens": used, "max_total_num_tokens": total,
            "max_running_requests": engine.config.max_batch, "token_usage": round(used / total, 4),
            "gen_throughput": round(engine.generated / max(time.time() - engine.started, 1e-3), 2),
        }

    async def loads(self, _):
        return web.json_response({"timestamp": time.time(), "version": VERSION, "loads": [self.load()]})

    async def server_info(self, _):
        config = self.engine.config
        return web.json_response({
            "model_path": MODEL, "served_model_name": MODEL, "tool_call_parser": "qwen25", "version": VERSION, "status": "ready",
            "max_running_requests": config.max_batch, "disable_cuda_graph": not config.cuda_graph,
            "cuda_graph_bs": [b for b in BUCKETS if b <= config.max_batch] if config.cuda_graph else [],
            "cuda_graph_max_bs": config.max_batch, "page_size": 64, "stream_interval": self.stream_interval,
            "index_key_dtype": config.index_dtype, "multi_stream_overlap": config.step.overlap,
            "max_total_num_tokens": config.max_batch * self.engine.model.shape.max_len,
            "internal_states": [self.load()], "startup_time": self.engine.started,
        })

    async def model_info(self, _):
        return web.json_response({
            "model_path": MODEL, "served_model_name": MODEL, "tokenizer_path": MODEL, "is_generation": True,
            "weight_version": "default", "tool_call_parser": "qwen25", "reasoning_parser": None,
            "model_type": MODEL, "architectures": ["RaceLM"]})

    async def models(self, _):
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "racelm"}]})

    async def metrics(self, _):
        engine, load = self.engine, self.load()
        label = f'model_name="{MODEL}",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"'
        gauges = {"num_running_reqs": load["num_running_reqs"], "num_queue_reqs": load["num_waiting_reqs"],
                  "num_used_tokens": load["num_used_tokens"], "token_usage": load["token_usage"],
                  "gen_throughput": load["gen_throughput"], "max_total_num_tokens": load["max_total_num_tokens"]}
        counters = {"prompt_tokens_total": engine.prompted, "generation_tokens_total": engine.generated,
                    "num_requests_total": engine.finished}
        lines = []
        for kind, values in (("gauge", gauges), ("counter", counters)):
            for name, value in values.items():
                lines += [f"# TYPE sglang:{name} {kind}", f"sglang:{name}{{{label}}} {value}"]
        lines.append("# TYPE sglang:cuda_graph_passes_total counter")
        lines += [f'sglang:cuda_graph_passes_total{{{label},mode="{mode}"}} {n}' for mode, n in engine.passes.items()]
        return web.Response(text="\n".join(lines) + "\n", content_type="text/plain")

    async def ping(self, _):
        return web.Response(text="")


def add_flags(p):
    p.add_argument("--weights", default="weights.pt")
    p.add_argument("--index-dtype", choices=("bf16", "fp8"), default="bf16")
    p.add_argument("--cuda-graph", choices=("on", "off"), default="on")
    p.add_argument("--overlap", choices=("on", "off"), default="on")
    p.add_argument("--max-batch", type=int, choices=BUCKETS, default=32)
    p.add_argument("--hold-staged", choices=("on", "off"), default="off", help="the fix: keep the staged keys until the join")
    p.add_argument("--probe", choices=("off", "keys", "picks"), default="off", help="in-graph instrumentation")
    p.add_argument("--score-rows", type=int, default=StepOptions.score_rows, help="index keys scored by one kernel, over all rows")
    p.add_argument("--stream-interval", type=int, default=4, help="tokens per streamed chunk")


def config_of(args) -> EngineConfig:
    on = {"on": True, "off": False}
    return EngineConfig(args.index_dtype, on[args.cuda_graph], args.max_batch,
                        StepOptions(on[args.overlap], on[args.hold_staged], args.probe, score_rows=args.score_rows))


async def serve(engine, port, stream_interval):
    """Starts listening; returns (runner, engine task)."""
    server = Server(engine, stream_interval)
    runner = web.AppRunner(server.app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, asyncio.create_task(server.run_engine())


async def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_flags(p)
    p.add_argument("--port", type=int, default=30000)
    args = p.parse_args()
    engine = Engine(load_model(args.weights), config_of(args))
    _, task = await serve(engine, args.port, args.stream_interval)
    print(json.dumps({"listening": args.port, "reused_bytes": {b: d.reused_bytes() for b, d in engine.decoders.items()}}), flush=True)
    await task


if __name__ == "__main__":
    asyncio.run(main())
