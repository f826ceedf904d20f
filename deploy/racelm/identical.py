"""Holds the answers of two addresses against each other, byte by byte but for ids and times.

    python3 identical.py http://127.0.0.1:8080 http://127.0.0.1:30000
"""

import json
import random
import re
import sys
import urllib.request

from sessions import openai_tools, turns
from tasks import make_session

SESSIONS = 24
PASSING = re.compile(rb'"id":"[0-9a-f]{32}"|"id":"call_[0-9a-f]{24}"|"created":[0-9]+')
OURS = ("date", "connection", "x-sglang-rid", "x-sglang-batch-size", "x-sglang-graph-bucket", "x-sglang-queue-depth")


def ask(url, body):
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        head = [(k.lower(), v) for k, v in answer.headers.items() if k.lower() not in OURS and k.lower() != "content-length"]
        return head, PASSING.sub(b"", answer.read())


def main():
    through, direct = sys.argv[1:]
    same = different = 0
    for n in range(SESSIONS):
        session = make_session(random.Random(f"identical:{n}"))
        for messages, _ in turns(session):
            body = {"model": "racelm", "messages": messages, "tools": openai_tools(session), "temperature": 0, "max_tokens": 160, "stream": n % 3 > 0}
            if ask(through, body) == ask(direct, body):
                same += 1
            else:
                different += 1
                print("differs:", n, file=sys.stderr)
    print(f"answers that are the same, ids and times left out: {same} of {same + different}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
