"""The canonical text and the key of a call."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.calls import call_key, canonical_json
from simulrag.calls.keys import plain_request

MODEL_REQUEST = {
    "provider": "offline",
    "endpoint": "default",
    "model": "rules-1",
    "messages": [{"role": "user", "content": "Wie groß ist der Effekt?"}],
    "sampling": {"temperature": 1.0, "seed": None},
    "sample_index": 0,
}

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
any_text = st.text(alphabet=st.characters(codec=None, exclude_categories=()))


def test_a_key_never_moves() -> None:
    """A change of this hash repays every user's calls: raise KEY_VERSION and say so."""
    assert call_key("model", MODEL_REQUEST) == (
        "a7610f42169b14dc58f55a5efed3e5ee682be68b8b3448098141be812560ae25"
    )


def test_each_part_of_a_call_matters() -> None:
    variants = [
        call_key("model", MODEL_REQUEST),
        call_key("simulator", MODEL_REQUEST),
        call_key("model", {**MODEL_REQUEST, "sample_index": 1}),
        call_key("model", {**MODEL_REQUEST, "endpoint": "other"}),
        call_key("model", {**MODEL_REQUEST, "sampling": {"temperature": 0.9, "seed": None}}),
        call_key("model", {**MODEL_REQUEST, "sampling": {"temperature": True, "seed": None}}),
        call_key("model", {**MODEL_REQUEST, "sampling": {"temperature": "1", "seed": None}}),
        call_key("model", {**MODEL_REQUEST, "sampling": {"temperature": 1.0}}),
    ]
    assert len(set(variants)) == len(variants)


def test_the_order_of_names_does_not_matter() -> None:
    backwards = dict(reversed(MODEL_REQUEST.items()))
    assert call_key("model", backwards) == call_key("model", MODEL_REQUEST)


def test_one_number_has_one_key_and_a_response_keeps_its_spelling() -> None:
    assert call_key("simulator", {"speed": 1.0}) == call_key("simulator", {"speed": 1})
    assert call_key("simulator", {"speed": -0.0}) == call_key("simulator", {"speed": 0})
    assert call_key("simulator", {"speed": 1.5}) != call_key("simulator", {"speed": 1})
    assert plain_request({"speed": [1.0, {"x": 2.0}]}) == {"speed": [1, {"x": 2}]}
    assert canonical_json({"co2_mg": 1.0}) == '{"co2_mg":1.0}'


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [0, math.nan]}, r"\$\.a\[1\]"),
        ({"a": math.inf}, r"\$\.a"),
        ({1: "a"}, "not text"),
        ({"a": {1, 2}}, "set at"),
        ({"a": b"x"}, "bytes at"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: object, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        canonical_json(value)


@given(documents)
def test_the_text_gives_the_value_back(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(documents)
def test_the_text_is_the_shortest_sorted_one(value: object) -> None:
    text = canonical_json(value)
    parsed = json.loads(text)
    assert text == json.dumps(parsed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@given(any_text)
def test_half_a_surrogate_pair_is_stored_and_found_again(text: str) -> None:
    encoded = canonical_json({"content": text}).encode()
    again = json.loads(encoded)
    assert canonical_json(again).encode() == encoded
    assert call_key("model", again) == call_key("model", {"content": text})


@given(documents, documents)
def test_different_requests_have_different_keys(left: object, right: object) -> None:
    same = plain_request({"x": left}) == plain_request({"x": right})  # type: ignore[dict-item]
    if call_key("model", {"x": left}) == call_key("model", {"x": right}):  # type: ignore[dict-item]
        assert same
