"""The plugin in SGLang's own server: loader, app, chat serving and tool parser are SGLang's."""

from __future__ import annotations

import http.client
import json
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
import sglang
from conftest import KEY, PATIENCE, Process, Turnwatch, get, scrub, wait

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]


def client(at: Process) -> openai.OpenAI:
    return openai.OpenAI(base_url=at.url + "/v1", api_key=KEY, timeout=PATIENCE, max_retries=0)


def ask(words: str, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": words}], **more}


def stream(at: Process, words: str) -> tuple[Any, str, str, str | None]:
    """stream returns the head of a streamed answer, its text, its call's arguments and its finish."""
    raw = client(at).chat.completions.with_raw_response.create(**ask(words, tools=TOOLS, stream=True))
    text, arguments, finish = "", "", None
    for chunk in raw.parse():
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                arguments += (call.function and call.function.arguments) or ""
            finish = choice.finish_reason or finish
    return raw.headers, text, arguments, finish


def facts_of(at: Process, head: Any) -> Any:
    return get(f"{at.url}{head['x-sglang-turn-facts']}/{head['x-sglang-rid']}", KEY)


def steps(facts: Any) -> int:
    return sum(run["last_step"] - run["first_step"] + 1 for run in facts["decode_runs"])


def test_streamed_call_carries_headers_through_turnwatch(turnwatch: Turnwatch) -> None:
    head, text, arguments, finish = stream(turnwatch, "weather, please")
    assert (text.strip(), json.loads(arguments), finish) == (
        "I will check.",
        {"city": "Paris", "days": 3},
        "tool_calls",
    )
    assert head["x-sglang-version"] == sglang.__version__
    assert head["x-sglang-turn-facts"] == "/turnwatch/turns"
    assert int(head["x-sglang-batch-size"]) >= 1
    assert int(head["x-sglang-graph-bucket"]) >= int(head["x-sglang-batch-size"])
    assert (head["x-sglang-queue-depth"], head["x-sglang-dp-rank"]) == ("0", "0")


def test_headers_name_the_configuration(turnwatch: Turnwatch) -> None:
    head, *_ = stream(turnwatch, "hello")
    told = {name: value for name, value in head.items() if name.startswith("x-sglang-config-")}
    assert told["x-sglang-config-cuda-graph"] in ("on", "off")
    assert told["x-sglang-config-overlap"] == "off", "the flag that the server was started with"
    assert told["x-sglang-config-sglang-opt-use-multi-stream-overlap"] == "off"
    assert told["x-sglang-config-tool-call-parser"] == "qwen25"
    assert len(told) <= 64
    assert sum(len(name) + len(value) + 4 for name, value in told.items()) <= 3072


def test_facts_after_the_turn(turnwatch: Turnwatch) -> None:
    head, *_ = stream(turnwatch, "weather, please")
    facts = facts_of(turnwatch, head)
    assert facts["rid"] == head["x-sglang-rid"]
    assert facts["cuda_graph"] is True
    assert steps(facts) == facts["completion_tokens"] - 1, "the prefill makes the first token"
    for run in facts["decode_runs"]:
        assert run["bucket"] >= run["batch"] >= 1
        assert run["t1_ms"] >= run["t0_ms"] > 1e12
    assert len(facts["input_ids"]) == facts["prompt_tokens"]
    assert len(facts["output_ids"]) == facts["completion_tokens"]


def test_answer_that_is_not_streamed(turnwatch: Turnwatch) -> None:
    raw = client(turnwatch).chat.completions.with_raw_response.create(**ask("weather, please", tools=TOOLS))
    answer: Any = raw.parse()
    assert json.loads(answer.choices[0].message.tool_calls[0].function.arguments)["city"] == "Paris"
    facts = facts_of(turnwatch, raw.headers)
    assert answer.id == raw.headers["x-sglang-rid"] == facts["rid"]
    assert answer.usage.completion_tokens == facts["completion_tokens"]


def test_turns_that_share_a_batch_say_so(turnwatch: Turnwatch) -> None:
    with ThreadPoolExecutor(8) as pool:
        heads = [pool.submit(stream, turnwatch, "hello") for _ in range(8)]
        every = [facts_of(turnwatch, f.result()[0]) for f in heads]
    assert max(run["batch"] for facts in every for run in facts["decode_runs"]) > 1
    rids = {facts["rid"] for facts in every}
    for facts in every:
        assert steps(facts) == facts["completion_tokens"] - 1
        shared = any(run["batch"] > 1 for run in facts["decode_runs"])
        assert not shared or set(facts["peers"]) & rids - {facts["rid"]}


def test_journal_has_the_batch(turnwatch: Turnwatch) -> None:
    head, *_ = stream(turnwatch, "weather, please")
    line = turnwatch.turn(head["x-sglang-rid"])
    facts = facts_of(turnwatch, head)
    tags = line["tags"]
    assert line["verdict"] == "clean"
    assert tags["rid"]["v"] == head["x-sglang-rid"]
    assert tags["overlap"]["v"] == "off"
    assert tags["batch"]["src"] == "facts"
    assert int(tags["batch"]["v"]) == max(run["batch"] for run in facts["decode_runs"])
    assert int(tags["graph_bucket"]["v"]) == max(run["bucket"] for run in facts["decode_runs"])


@pytest.mark.parametrize("streamed", [True, False])
def test_client_that_leaves_aborts_its_turn(server: Process, turnwatch: Turnwatch, streamed: bool) -> None:
    def live() -> Any:
        return get(server.url + "/turnwatch/healthz", KEY)["live"]

    wait("earlier turns to end", lambda: live() == 0)
    before = server.text().count("ABORT")
    at = urlsplit(turnwatch.url)
    line = http.client.HTTPConnection(at.hostname or "", at.port, timeout=PATIENCE)
    body = json.dumps(ask("endless", stream=streamed))
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    line.request("POST", "/v1/chat/completions", body, headers)
    if streamed:
        line.getresponse().read(200)
    else:
        wait("the turn to run", lambda: live() > 0)
    line.close()
    wait("the abort", lambda: server.text().count("ABORT") > before)


def exchange(at: Process, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(at.url)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
    line.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = line.getresponse()
    content = answer.read()
    line.close()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, content


@pytest.mark.parametrize(
    "body",
    [
        ask("weather, please", tools=TOOLS),
        ask("weather, please", tools=TOOLS, stream=True, stream_options={"include_usage": True}),
        ask("hello"),
        ask("hello", stream=True),
        ask("hello", n=2),
        ask("hello", temperature="no number"),
        ask("hello", stream=True, max_tokens=-1),
    ],
    ids=["call", "streamed-call", "text", "streamed-text", "two-choices", "invalid", "refused"],
)
def test_answers_are_the_same_without_the_plugin(
    open_server: Process, plain_server: Process, body: dict[str, Any]
) -> None:
    status, head, content = exchange(open_server, body)
    plain_status, plain_head, plain_content = exchange(plain_server, body)
    assert status == plain_status
    if body.get("n") == 2 and body.get("stream") is None:
        assert len(json.loads(content)["choices"]) == 2
    assert scrub(content) == scrub(plain_content)
    ours = {name for name in head if name.startswith("x-sglang-")}
    assert bool(ours) == (status == 200)
    assert set(head) - ours == set(plain_head)
    assert not [name for name in plain_head if name.startswith("x-sglang-")]


def refused(url: str, key: str | None) -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(url, key)
    return caught.value.code


def test_routes_ask_for_the_servers_key(server: Process) -> None:
    head, *_ = stream(server, "hello")
    turn = f"{server.url}/turnwatch/turns/{head['x-sglang-rid']}"
    for url in (turn, server.url + "/turnwatch/healthz"):
        assert refused(url, None) == 401
        assert refused(url, "wrong") == 401
        assert get(url, KEY)
    assert refused(server.url + "/turnwatch/turns/none", KEY) == 404
    assert refused(server.url + "/turnwatch/other", KEY) == 404


def test_token_ids_need_a_key(open_server: Process) -> None:
    head, *_ = stream(open_server, "hello")
    facts = get(f"{open_server.url}/turnwatch/turns/{head['x-sglang-rid']}")
    assert facts["completion_tokens"] > 0
    assert "input_ids" not in facts
    assert "output_ids" not in facts


def test_health_names_all_and_no_secret(server: Process) -> None:
    head, *_ = stream(server, "hello")
    health = get(server.url + "/turnwatch/healthz", KEY)
    assert health["status"] == "ok"
    assert health["requests"] is True
    assert health["version"] == sglang.__version__
    assert health["lost"] == 0
    assert health["notes"] == []
    assert health["config"]["tool_call_parser"] == "qwen25"
    assert health["config"]["sglang_opt_use_multi_stream_overlap"] == "off"
    assert KEY not in json.dumps(health)
    assert KEY not in str(dict(head))
    assert KEY not in server.text()
