"""Plays sessions through a chain of sidecars that know one source each, and says how right each is.

    python3 sources.py --url http://127.0.0.1:8080 --server http://127.0.0.1:30000 --sessions 640 --truth truth.jsonl
    python3 sources.py --truth truth.jsonl facts.jsonl poll.jsonl

The first line plays, and writes for each wrong turn which decode step made its first
wrong token. The second holds the journals of the sidecars against that: a journal
FILE.jsonl, or FILE.jsonl.gz, is of the sidecar that knows FILE.
"""

import argparse
import gzip
import json
import random
import threading
import urllib.request
from pathlib import Path

from sessions import openai_tools, turns
from tasks import make_session
from template import call_text


# -- playing ---------------------------------------------------------------

def body_of(session, number, messages):
    """An eighth of the sessions does not stream."""
    body = {"model": "racelm", "messages": messages, "tools": openai_tools(session), "temperature": 0, "max_tokens": 160}
    if number % 8 != 7:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def play(url, number):
    """Plays a session; returns (request id, the server's id, what should have been said) of its turns."""
    session, played = make_session(random.Random(f"sources:{number}")), []
    for i, (messages, expected) in enumerate(turns(session)):
        name = f"sources-{number:04d}-{i}"
        request = urllib.request.Request(
            url + "/v1/chat/completions", json.dumps(body_of(session, number, messages)).encode(),
            {"Content-Type": "application/json", "X-Request-Id": name})
        with urllib.request.urlopen(request) as answer:
            answer.read()
            rid = answer.headers["x-sglang-rid"]
        played.append((name, rid, call_text(expected["call"]) if "call" in expected else expected["text"]))
    return played


def play_all(args):
    todo, played = list(range(args.sessions))[::-1], []

    def worker():
        while todo:
            try:
                number = todo.pop()
            except IndexError:
                return
            played.extend(play(args.url, number))

    threads = [threading.Thread(target=worker) for _ in range(args.concurrency)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return played


# -- truth -----------------------------------------------------------------

def differ(want, got):
    """Where two texts part; None if they do not."""
    if want == got:
        return None
    return next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))


def made(want, facts):
    """The first wrong token, from 0, and the step that made it: prefill makes the first, each decode step one more."""
    token, runs = differ(want, facts["native_text"]), facts["decode_runs"]
    if token is None or not runs:
        return None
    step = runs[0]["first_step"] + max(token - 1, 0)
    run = next((r for r in runs if step <= r["last_step"]), runs[-1])
    return {"token": token, "batch": run["batch"], "bucket": run["bucket"], "decode_runs": runs}


def truth(args):
    """Plays, and writes a line for each wrong turn and one with their number."""
    wrong, played = [], play_all(args)
    for name, rid, want in played:
        with urllib.request.urlopen(f"{args.server}/turnwatch/turns/{rid}") as answer:
            first = made(want, json.load(answer))
        if first:
            wrong.append({"request_id": name, **first})
    with open(args.truth, "w") as f:
        f.write(json.dumps({"turns": len(played), "wrong": len(wrong)}) + "\n")
        f.writelines(json.dumps(w) + "\n" for w in sorted(wrong, key=lambda w: w["request_id"]))


# -- judging ---------------------------------------------------------------

def lines(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as f:
        return [json.loads(line) for line in f]


def told_of(journal):
    """The turns of a journal that it flags, and their tags, by request id."""
    return {t["request_id"]: t["tags"] for t in lines(journal)
            if not t.get("type") and (t["verdict"] == "corrupted" or t["suspect"])}


class Accuracy:
    def __init__(self):
        self.all = self.told = self.right = self.near = self.off = 0

    def add(self, value, want):
        self.all += 1
        if value is None:
            return
        d = abs(int(value) - want)
        self.told, self.off = self.told + 1, self.off + d
        self.right, self.near = self.right + (d == 0), self.near + (d <= 1)

    def __str__(self):
        of = max(self.told, 1)
        return (f"exactly right {self.right} of {self.told} = {100 * self.right / of:.0f}%, at most one off {self.near}, "
                f"off by {self.off / of:.2f} on average; not told {self.all - self.told}")


def of_source(tags, name, source):
    """A tag's value, if it comes from that source; what has no source given may come from any."""
    tag = tags.get(name, {})
    return tag.get("v") if source is None or tag.get("src") == source else None


SOURCES = {"facts": "facts", "facts-interval": "facts", "poll": "poll", "own": "own"}


def judge(name, journal, wrong):
    """Holds a journal against the truth; returns the lines of the table."""
    told, source = told_of(journal), SOURCES.get(name)
    batch, bucket, head = Accuracy(), Accuracy(), Accuracy()
    for rid in wrong.keys() & told.keys():
        batch.add(of_source(told[rid], "batch_at_onset", source), wrong[rid]["batch"])
        bucket.add(of_source(told[rid], "graph_bucket_at_onset", source), wrong[rid]["bucket"])
        head.add(of_source(told[rid], "batch_at_head", "header"), wrong[rid]["batch"])
    says = [f"{name:15} flags {batch.all} wrong turns and {len(told.keys() - wrong.keys())} others",
            f"{'':15} batch  {batch}", f"{'':15} bucket {bucket}"]
    return says + [f"{'':15} header {head}: the batch at the head in place of it"] * (name == "all")


def table(args):
    count, *rest = lines(args.truth)
    wrong = {w["request_id"]: w for w in rest}
    print(f"{count['turns']} turns, {len(wrong)} of them wrong")
    for journal in args.journals:
        print("\n".join(judge(Path(journal).name.split(".")[0], journal, wrong)))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", help="the outermost sidecar")
    p.add_argument("--server", help="the server itself")
    p.add_argument("--sessions", type=int, default=640)
    p.add_argument("--concurrency", type=int, default=32)
    p.add_argument("--truth", required=True, help="file for the truth")
    p.add_argument("journals", nargs="*")
    a = p.parse_args()
    table(a) if a.journals else truth(a)
