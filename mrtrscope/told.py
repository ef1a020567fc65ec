"""What those who carry traffic tell their user while they do: that nothing is recorded at present, or nobody answers.

One clear line each: what, where, what to do. What happens again and again is told once in a while, with how often.
"""

from time import monotonic

from mrtrscope.where import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN = 60.0  # seconds between two lines about the recording
SECOND = 1.0  # and between two about the target


def why_not(folder: str, why: str) -> str:
    """Why something is not recorded, and what helps."""
    if why.startswith("recording stopped"):
        return f"{why}; traffic goes on, begin anew with a larger size to record more"
    if why.startswith("the journal was"):
        return f"{why} ({folder}); another was begun: leave a journal in place while it is written"
    return f"{why} ({folder}); make room or give rights there"


class Notices:
    """`who` stands before each line; `tell` gets it."""

    def __init__(self, who: str, tell: "Callable[[str], None]" = say) -> None:
        self._who = who
        self._tell = tell
        self._recording = -AGAIN  # when it was last told that nothing is recorded
        self._lost = False
        self._target = -SECOND
        self._silent = 0  # refused connections since that were not told of

    def recording(self, folder: str, why: str) -> None:
        """`why` nothing is recorded, "" when that is over; see `Journal.told`."""
        now = monotonic()
        if not why:
            if self._lost:
                self._lost = False
                self._tell(f"{self._who}: recording goes on; a gap marks what is missing.")
        elif now - self._recording >= AGAIN:
            self._recording, self._lost = now, True
            more = (
                ""
                if why.startswith("recording stopped")
                else ". Traffic goes on; recording does when it can again"
            )
            self._tell(f"{self._who}: not recording: {why_not(folder, why)}{more}.")

    def refused(self, target: str, why: str) -> None:
        """A client was turned away, since the target cannot be reached."""
        now = monotonic()
        if now - self._target < SECOND:
            self._silent += 1
            return
        before = f" ({self._silent:,} more before)" if self._silent else ""
        self._target, self._silent = now, 0
        self._tell(
            f"{self._who}: cannot connect to {target}: {why}; a client was turned away{before}."
            " Start the server, or name another with --target."
        )
