"""What tests of plug-ins and pipelines need: a loopback model server and a scripted model."""

from __future__ import annotations

from simulrag.testing.loopback import LoopbackServer, canned, stand_in
from simulrag.testing.scripted import ScriptedModel

__all__ = ["LoopbackServer", "ScriptedModel", "canned", "stand_in"]
