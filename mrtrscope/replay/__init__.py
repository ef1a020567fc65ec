"""A capture that acts: it stands in for the server, or for the client, or misbehaves on purpose.

    from mrtrscope.replay import Recording, Stand

`Recording.load(path)` reads a capture; `Stand(recording)` tells which recorded answer fits a request.
"""

from mrtrscope.replay.recording import Recording, Step, request_key
from mrtrscope.replay.stand import Miss, Refused, Stand

__all__ = ["Miss", "Recording", "Refused", "Stand", "Step", "request_key"]
