"""Files of published records that cannot be read: each is named, with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulators.base import ArgumentError
from studies.climate import validate as climate
from studies.epidemiology import validate as epidemiology
from studies.urban import validate as urban
from tests.integration.test_climate_published import HEADER as CLIMATE
from tests.integration.test_climate_published import ROW as PLACE
from tests.unit.studies.test_epidemiology_validate import HEADER as SEASONS
from tests.unit.studies.test_epidemiology_validate import ROWS as SEASON
from tests.unit.studies.test_urban_validate import HEADER as URBAN
from tests.unit.studies.test_urban_validate import ROWS as SETTING


@pytest.mark.parametrize(
    ("read", "lines", "says"),
    [
        (urban, (URBAN,), "has no rows"),
        (urban, (URBAN.replace("family", "kind"), *SETTING), "lacks the columns family"),
        (urban, (URBAN, SETTING[0].replace("0.77", "fast")), "line 2"),
        (urban, (URBAN, SETTING[0].replace("speed+priority", "weather")), "weather"),
        (urban, (URBAN, SETTING[2].replace("1.0,1.0,0", "1.0,some,0")), "lanes_txt"),
        (climate, ("name,lat", "x,1"), "lacks the columns"),
        (climate, (CLIMATE, PLACE.replace("39.6401", "north")), "line 2"),
        (epidemiology, ("i,states", "1,Ohio"), "lacks the columns start"),
        (epidemiology, (SEASONS, SEASON[0].replace("Jersey", "Jersy")), "line 2: .*New Jersey"),
        (epidemiology, (SEASONS, SEASON[0].replace(",no,", ",some,")), "'some' is not a season"),
        (epidemiology, (SEASONS, SEASON[0].replace(",prevalence,", ",deaths,")), "'deaths' is not"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    read: Any, lines: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    (tmp_path / "parsed.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=says):
        read.read_published(tmp_path)
