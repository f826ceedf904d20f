"""turnwatch_sglang makes an SGLang server say under which batch and configuration it made each answer.

SGLang calls register() in the main process and in every scheduler. In the main process it
adds a middleware (headers, the facts route); in a scheduler it hooks the processing of
batch results and sends what it sees to the main process through a unix datagram socket.
What a release lacks is left out and said once; nothing here stops or delays the server.
"""

from __future__ import annotations

import multiprocessing
import sys

from turnwatch_sglang.once import notes

SCHEDULER = "sglang.srt.managers.scheduler"


def register() -> None:
    """Register is the plugin's entry point."""
    try:
        if multiprocessing.parent_process() is None:
            from turnwatch_sglang import attach

            attach.prepare()
        elif SCHEDULER in sys.modules:
            from turnwatch_sglang import scheduler

            scheduler.install()
    except Exception as err:
        notes.say(f"the plugin is off: {err!r}")
