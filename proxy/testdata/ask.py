"""Asks a server through the openai client, streaming and not, and prints what it got."""

import json
import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
asked = {
    "model": "m",
    "messages": [{"role": "user", "content": "How is the weather in Oslo and in Rome?"}],
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}],
    "user": "e2e",
}

for _ in range(2):  # the second on the connection of the first
    events, text, calls, finish = 0, "", "", ""
    for event in client.chat.completions.create(stream=True, **asked):
        events += 1
        for choice in event.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                calls += (call.function.name or "") + (call.function.arguments or "")
            finish += choice.finish_reason or ""
    print(json.dumps({"events": events, "text": text, "calls": calls, "finish": finish}))

    raw = client.chat.completions.with_raw_response.create(**asked)
    choice = raw.parse().choices[0]
    calls = "".join(c.function.name + c.function.arguments for c in choice.message.tool_calls or [])
    print(json.dumps({"text": choice.message.content or "", "calls": calls, "finish": choice.finish_reason}))
    print("verdict:", raw.headers.get("x-turnwatch-verdict"), file=sys.stderr)
