"""A capture that acts: it stands in for the server, or for the client, or misbehaves on purpose.

    recording = Recording.load(path)              every request of a capture, with all that answered it
    step = Stand(recording).begin(method, params, "me")     which recorded answer fits; raises Miss or Refused
    driven = asyncio.run(Driver(recording, "http://127.0.0.1:8000/mcp").run())     what a live server answers now
    differences(recorded, now)                    in what two answers differ

`Serving` is a `Stand` behind a transport. `mrtrscope.pytest_plugin` has all of it as fixtures.
"""

from mrtrscope.replay.answering import Answers
from mrtrscope.replay.compare import Difference, differences
from mrtrscope.replay.drive import Driven, Driver
from mrtrscope.replay.plan import Edit
from mrtrscope.replay.recording import Recording, Step, request_key
from mrtrscope.replay.serving import Serving
from mrtrscope.replay.stand import Miss, Refused, Stand

__all__ = [
    "Answers", "Difference", "Driven", "Driver", "Edit", "Miss", "Recording", "Refused", "Serving", "Stand", "Step",
    "differences", "request_key",
]  # fmt: skip
