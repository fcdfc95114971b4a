"""Searches that are killed while they keep their state."""

from exactlearn._runtime.checkpoint import Checkpoint


class KilledError(BaseException):
    """Ends a search as a kill does: nothing that follows is done."""


def killing(monkeypatch):
    """Kill after each so many states that the searches of a name offer; every state is saved."""
    offered = {"left": 0, "kills": 0, "most": 100, "search": ""}
    real = Checkpoint.offer

    def offer(self, key, state, *, last=False):
        self.pause = 0.0
        real(self, key, state, last=last)
        offered["left"] -= key.startswith(offered["search"])
        if offered["left"] == 0 and offered["kills"] < offered["most"]:
            offered["kills"] += 1
            raise KilledError

    monkeypatch.setattr(Checkpoint, "offer", offer)
    return offered
