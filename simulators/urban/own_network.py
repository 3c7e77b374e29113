"""A user's own SUMO configuration in the place of the corridor.

``speed_factor`` scales the lanes of the named edges, ``demand_factor`` the whole demand (SUMO's
``--scale``), ``use_priority_junction`` takes the named signal away. Lanes cannot be changed.
"""

from __future__ import annotations

import gzip
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simulators.base import ArgumentError, files_fingerprint
from simulators.urban import engine
from simulators.urban.runs import BASELINE, Measures, Setting, Workplace, simulate

_INPUTS = ("net-file", "route-files", "additional-files")


@dataclass(frozen=True)
class OwnNetwork:
    """A configuration, the edges that interventions speak of, and the signal (if any)."""

    sumocfg: Path
    edges: tuple[str, ...]
    signal: str | None

    def __post_init__(self) -> None:
        if not self.edges:
            raise ArgumentError("sumocfg needs edges: name the edges whose speed limit is scaled")
        network = _network(self._files())
        known = {edge.attrib["id"] for edge in network.findall("edge")}
        missing = [edge for edge in self.edges if edge not in known]
        if missing:
            raise ArgumentError(f"{self.sumocfg}: its network has no edge {', '.join(missing)}")
        if self.signal is not None and not _signal_junctions(network, self.signal):
            raise ArgumentError(f"{self.sumocfg}: its network has no signal {self.signal}")

    def fingerprint(self) -> str:
        """Hash the configuration, the files it names, the edges and the signal."""
        files = [self.sumocfg, *(path for key in _INPUTS for path in self._files()[key])]
        stamps = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
        return _content_hash(stamps, self.edges, self.signal or "")

    def run(self, setting: Setting, seed: int, workplace: Workplace) -> Measures:
        """Run SUMO on the configuration under ``setting``."""
        self._check(setting)
        inputs = [f"--configuration-file={self.sumocfg.resolve()}"]
        inputs.append(f"--scale={setting.demand_factor:.6f}")
        if setting.speed_factor != 1 or setting.use_priority_junction:
            inputs.append(f"--net-file={self._changed_network(setting, workplace).resolve()}")
        with tempfile.TemporaryDirectory(prefix="urban-") as name:
            entry: dict[str, object] = {"setting": vars(setting), "sumocfg": str(self.sumocfg)}
            return simulate(inputs, seed, Path(name), workplace, entry)

    def _check(self, setting: Setting) -> None:
        if setting.lanes != BASELINE.lanes:
            raise ArgumentError(
                f"lanes cannot be changed on your own network ({self.sumocfg.name}): leave lanes "
                f"at {BASELINE.lanes}, which keeps the network's own lanes"
            )
        if setting.use_priority_junction and self.signal is None:
            raise ArgumentError(
                "use_priority_junction needs the id of the signal to take away: set signal of the "
                "urban simulator"
            )

    def _changed_network(self, setting: Setting, workplace: Workplace) -> Path:
        network = _network(self._files())
        for edge in network.findall("edge"):
            if edge.attrib["id"] in self.edges:
                for lane in edge.findall("lane"):
                    lane.set("speed", f"{float(lane.attrib['speed']) * setting.speed_factor:.4f}")
        options = ["--sumo-net-file=plain.net.xml"]
        if setting.use_priority_junction and self.signal is not None:
            junctions = _signal_junctions(network, self.signal)
            options.append(f"--tls.unset={','.join([self.signal, *junctions])}")
        text = ET.tostring(network, encoding="unicode")
        return engine.converted(
            {"plain.net.xml": text},
            options,
            cache_dir=workplace.cache_dir,
            timeout_s=workplace.timeout_s,
        )

    def _files(self) -> dict[str, list[Path]]:
        try:
            root = ET.parse(self.sumocfg).getroot()  # noqa: S314 see above
        except (OSError, ET.ParseError) as error:
            raise ArgumentError(f"sumocfg {self.sumocfg} cannot be read: {error}") from None
        files: dict[str, list[Path]] = {key: [] for key in _INPUTS}
        for key in _INPUTS:
            element = root.find(f".//{key}")
            names = element.attrib.get("value", "").split(",") if element is not None else []
            files[key] = [self.sumocfg.parent / name.strip() for name in names if name.strip()]
        if len(files["net-file"]) != 1:
            raise ArgumentError(f"sumocfg {self.sumocfg} names no net-file")
        for path in (path for key in _INPUTS for path in files[key]):
            if not path.is_file():
                raise ArgumentError(f"sumocfg {self.sumocfg} names {path}, which is not there")
        return files


def _network(files: dict[str, list[Path]]) -> ET.Element:
    path = files["net-file"][0]
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        return ET.fromstring(text)  # noqa: S314 see above
    except (OSError, ET.ParseError) as error:
        raise ArgumentError(f"the network {path} cannot be read: {error}") from None


def _signal_junctions(network: ET.Element, signal: str) -> list[str]:
    """List the junctions that the signal controls, sorted."""
    ends = {edge.attrib["id"]: edge.attrib.get("to", "") for edge in network.findall("edge")}
    controlled = [c for c in network.findall("connection") if c.attrib.get("tl") == signal]
    return sorted({ends[c.attrib["from"]] for c in controlled})


@lru_cache(maxsize=16)
def _content_hash(
    stamps: tuple[tuple[Path, int, int], ...], edges: tuple[str, ...], signal: str
) -> str:
    return files_fingerprint([path for path, _, _ in stamps], *edges, "signal", signal)
