"""Fields of frozen values are set by name, and a name that is no field is refused."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from dpselect.mechanisms.port import set_fields


@dataclass(frozen=True)
class _Noise:
    epsilon: int
    groups: int = field(init=False, default=1)
    limit = 3  # belongs to the class and is no field

    def __post_init__(self) -> None:
        set_fields(self, groups=self.epsilon + 2)


def test_a_field_is_set() -> None:
    assert _Noise(1).groups == 3


@pytest.mark.parametrize("name", ["group", "limit", "rate"])
def test_a_name_that_is_no_field_is_refused_and_nothing_is_set(name: str) -> None:
    noise = _Noise(1)
    with pytest.raises(TypeError, match=f"_Noise has no field {name}$"):
        set_fields(noise, groups=7, **{name: 7})
    assert noise.groups == 3
