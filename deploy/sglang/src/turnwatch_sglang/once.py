"""Messages for the server's log, each said once in a process."""

from __future__ import annotations

import logging

logger = logging.getLogger("turnwatch")
MOST = 64  # distinct messages kept and said


class Notes:
    """Notes keeps what was said, for the log and for the health route."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        """Say puts message into the log, unless it has been said before."""
        if message not in self.said and len(self.said) < MOST:
            self.said.append(message)
            logger.warning("turnwatch: %s", message)


notes = Notes()
