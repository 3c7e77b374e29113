"""What a loopback server replies where no model is: ``simulrag.stand_in``, over HTTP."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from simulators.base import Simulator
from simulrag.models.base import Message
from simulrag.stand_in import Prompted
from simulrag.task import tasks, without_model
from simulrag.testing.wires import Body, messages, schema_name, schema_of


def stand_in(*simulators: Simulator) -> Callable[[Body], str]:
    """An answerer for the loopback server: a stand-in for each reply.

    ``simulators``: those that are not registered, and whose handbooks are shown. Answers differ by
    the request's seed (send seed 0, to which the sample index is added); where none is sent, the
    n-th request with one body is sample n.
    """
    with suppress(ModuleNotFoundError):  # a room whose packages are not here asks nothing
        tasks()
    seen: Counter[int] = Counter()
    lock = threading.Lock()

    def sample(body: Body) -> int:
        if body.get("seed") is not None:
            return int(body["seed"])
        with lock:
            asked = hash(json.dumps(body, sort_keys=True))
            seen[asked] += 1
            return seen[asked] - 1

    def answer(body: Body) -> str:
        said = [Message.model_validate(message) for message in messages(body)]
        prompted = Prompted(said, schema_name(body) or "", sample(body), simulators)
        return without_model(prompted, schema_of(body))

    return answer


def question(number: int) -> str:
    """A question of the benchmark's usual length; the number makes it another one."""
    cut = 5 + number % 30
    return (
        f"In scheme {number}, speed limits along the main corridor drop by {cut} percent, and the "
        "central signal is replaced by a priority junction that gives the corridor a green wave. "
        "What is the percentage change in average vehicle idling time, and is it minor (under "
        "25%), moderate (25 to 75%) or significant (over 75%)? What do you expect for the "
        "percentage change in total CO2 emissions, and would it count as minor (under 10%), "
        "moderate (10 to 30%) or significant (over 30%)? Considering all of this, does the "
        "situation improve overall, and for whom?"
    )
