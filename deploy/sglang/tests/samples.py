"""Models whose answers are samples of the judge: SGLang's server, and what each says, token by token.

Run as a program: python samples.py PORT NAME. A mark of a model is one token of it, and so one piece here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import server

CUT = "\0"  # between tokens


@dataclass(frozen=True)
class Model:
    """Model is what a model says, ^ between tokens, the token that ends it, and the parsers that read it.

    gpt-oss's are its own; so are the marks of the others, and their other pieces are as gpt-oss cuts them. SGLang
    leaves the last token of gpt-oss in the text, which ends a call, and takes those of the others out of it.
    """

    said: str
    matched: int
    parsers: dict[str, str]


MODELS = {
    "gptoss_good_whole": Model(
        "<|channel|>^analysis^<|message|>^We^ need^ the^ weather^ in^ Paris^.^ Use^ get^_weather^.^<|end|>^"
        "<|start|>^assistant^<|channel|>^comment^ary^ to^=^functions^.get^_weather^ ^<|constrain|>^json^<|message|>^"
        '{"^city^":"^Paris^"}^<|call|>',
        200012,
        {"tool_call_parser": "gpt-oss", "reasoning_parser": "gpt-oss"},
    ),
    "kimi_k2_good_whole": Model(
        "I^ will^ check^ the^ weather^.^<|tool_calls_section_begin|>^<|tool_call_begin|>^functions^.get^_weather^:^0^"
        '<|tool_call_argument_begin|>^{"^city^":^ "^Paris^"}^<|tool_call_end|>^<|tool_calls_section_end|>^',
        163586,
        {"tool_call_parser": "kimi_k2"},
    ),
    "mistral_two_calls": Model(
        '[TOOL_CALLS]^ [{"^name^":^ "^get^_weather^",^ "^arguments^":^ {"^city^":^ "^Paris^"}},'
        '^ {"^name^":^ "^get^_weather^",^ "^arguments^":^ {"^city^":^ "^Lyon^"}}]^',
        2,
        {"tool_call_parser": "mistral"},
    ),
}


class Tokenizer(server.Tokenizer):
    """Tokenizer takes a text that is cut into tokens as it is cut."""

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [self.id(piece) for piece in text.split(CUT)] if CUT in text else super().encode(text)


def main(port: int, model: Model) -> None:
    server.Tokenizer = Tokenizer  # type: ignore[misc]
    server.MATCHED = model.matched
    server.script = lambda _: model.said.replace("^", CUT)
    server.main(port, None, **model.parsers)


if __name__ == "__main__":
    main(int(sys.argv[1]), MODELS[sys.argv[2]])
