"""What tests of plug-ins and pipelines need: a loopback model server and a scripted model."""

from __future__ import annotations

from simulrag.testing.loopback import LoopbackServer, canned
from simulrag.testing.scripted import ScriptedModel
from simulrag.testing.traffic import traffic

__all__ = ["LoopbackServer", "ScriptedModel", "canned", "traffic"]
