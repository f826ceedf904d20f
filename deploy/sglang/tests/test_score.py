"""Log probabilities at /generate: what SGLang's own code makes of a request for them.

Validation, normalization, the bookkeeping of a prefill's rows, the assembling of the answer
and its JSON are SGLang's; the rows themselves are scripted. The recorded answers are what the
simulated server's are held against.
"""

from __future__ import annotations

import http.client
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import sglang
from conftest import PATIENCE, Process
from engine import ANSWER, BUSY, UNDERFLOW, logprob

RECORDED = Path(__file__).parents[3] / "proxy" / "sglangtest" / "testdata" / "scores"
IDS = [3, 1, 4, 15, 9, 2, 6]


def post(at: Process, body: dict[str, Any]) -> tuple[int, str]:
    where = urlsplit(at.url)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
    line.request("POST", "/generate", json.dumps(body), {"Content-Type": "application/json"})
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer.status, text


def ask(start: Any = 0, most: Any = 0, ids: Any = IDS, top: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "input_ids": ids,
        "sampling_params": {"max_new_tokens": most, "temperature": 0},
        "return_logprob": True,
        "logprob_start_len": start,
        "top_logprobs_num": top,
        **more,
    }


def scored(at: Process, body: dict[str, Any]) -> Any:
    status, text = post(at, body)
    assert status == 200, text
    return json.loads(text)


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("start", [0, 3, len(IDS) - 1, len(IDS), -1, None])
def test_entries_go_from_the_start_and_the_first_has_no_number(open_server: Process, start: Any, most: int) -> None:
    meta = scored(open_server, ask(start, most))["meta_info"]
    first = len(IDS) if start in (None, -1) else start
    told = meta["input_token_logprobs"]
    assert [(entry[1], entry[2]) for entry in told] == [(token, None) for token in IDS[first:]]
    assert [entry[0] for entry in told] == ([None] + [logprob(token) for token in IDS[first + 1 :]])[: len(told)]
    tops = meta["input_top_logprobs"]
    want = [None] + [[[logprob(t + k), t + k, None] for k in range(2)] for t in IDS[first + 1 :]]
    assert tops == want[: len(told)]
    assert meta["prompt_tokens"] == len(IDS)
    assert meta["cached_tokens"] == min(first, len(IDS) - 1), "no more than the start comes from the cache"


def test_no_token_is_made_when_none_is_wanted(open_server: Process) -> None:
    answer = scored(open_server, ask(0, 0))
    meta = answer["meta_info"]
    assert (answer["text"], answer["output_ids"], meta["completion_tokens"]) == ("", [], 0)
    assert meta["finish_reason"] == {"type": "length", "length": 0}
    assert (meta["output_token_logprobs"], meta["output_token_logprobs_length"]) == ([], 0)
    assert meta["output_top_logprobs"] == [[[logprob(ANSWER + k), ANSWER + k, None] for k in range(2)]]


def test_one_token_is_made_when_one_is_wanted(open_server: Process) -> None:
    answer = scored(open_server, ask(0, 1))
    meta = answer["meta_info"]
    assert (answer["output_ids"], meta["completion_tokens"]) == ([ANSWER], 1)
    assert meta["finish_reason"] == {"type": "length", "length": 1}
    assert meta["output_token_logprobs"] == [[logprob(ANSWER), ANSWER, None]]


def test_alternatives_and_texts_are_told_where_they_are_wanted(open_server: Process) -> None:
    meta = scored(open_server, ask(top=0))["meta_info"]
    assert not [name for name in meta if "top_logprobs" in name]
    meta = scored(open_server, ask(return_text_in_logprobs=True, ids=[900_001, 900_002]))["meta_info"]
    assert [entry[2] for entry in meta["input_token_logprobs"]] == ["<900001>", "<900002>"]
    assert "input_token_logprobs" not in scored(open_server, {**ask(), "return_logprob": False, "input_ids": [0]})


def test_what_is_no_number_is_null(open_server: Process) -> None:
    meta = scored(open_server, ask(ids=[1, UNDERFLOW, 2], top=1))["meta_info"]
    assert [entry[0] for entry in meta["input_token_logprobs"]] == [None, None, logprob(2)]
    assert meta["input_top_logprobs"][1] == [[None, UNDERFLOW, None]]


def test_last_token_of_the_vocabulary_is_told_as_another(open_server: Process) -> None:
    last = (1 << 20) - 1
    meta = scored(open_server, ask(ids=[5, last - 1, last]))["meta_info"]
    assert [entry[1] for entry in meta["input_token_logprobs"]] == [5, last - 1, 0]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (ask(ids=[]), 400, '{"error":{"message":"input_ids cannot be empty."}}'),
        ({"return_logprob": True}, 400, "Either text, input_ids or input_embeds should be provided."),
        (ask(most=-1), 400, '{"error":{"message":"max_new_tokens must be at least 0, got -1."}}'),
        (ask(ids=[1] * (1 << 20)), 400, "is longer than the model's context length (1048576 tokens)."),
        (ask(start=8), 400, "req.logprob_start_len=8 is higher than the number of input tokens"),
        (ask(start=0, ids="x"), 400, ""),
        (ask(ids=[BUSY]), 503, '"message":"The request queue is full.","type":"503","param":null,"code":503}'),
    ],
    ids=["empty", "nothing", "negative", "long", "late", "type", "busy"],
)
def test_what_is_refused(open_server: Process, body: dict[str, Any], status: int, said: str) -> None:
    got, text = post(open_server, body)
    assert (got, said in text) == (status, True), text[:500]


@pytest.mark.parametrize("name", ["prefill", "token"])
def test_answers_are_as_recorded(open_server: Process, name: str) -> None:
    """Run with TURNWATCH_RECORD=1 to record them anew."""
    _, text = post(open_server, ask(3, ["prefill", "token"].index(name), rid="recorded"))
    text = re.sub(r'"(e2e_latency|response_sent_to_client_ts)":[0-9.e-]+', r'"\1":0.5', text) + "\n"
    text = re.sub(r'^{"text":"[^"]*"', '{"text":"x"' if name == "token" else '{"text":""', text)
    path = RECORDED / f"{name}-{sglang.__version__}.json"
    if os.environ.get("TURNWATCH_RECORD") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
