"""What the JSON contracts of the tasks' replies have in common; each stands beside its task.

Types are strict: the string "false" is not a boolean and "0" not an integer. A reply that does
not fit goes back to the model once, with the validation error.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

Text = Annotated[StrictStr, Field(min_length=1)]


class Reply(BaseModel):
    """Base of all replies: closed and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Numbered(Reply):
    """What a reply to several claims says of one: ``index`` is the claim's number in the prompt."""

    index: StrictInt
