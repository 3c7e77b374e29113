"""The corridor's road network: plain XML by our hand, netconvert, and a cache by content."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from simulators.base import RunError
from simulators.urban import engine
from simulators.urban.corridor import Corridor

SIGNAL = "signal"
EASTBOUND = ("east_0", "east_1")
WESTBOUND = ("west_1", "west_0")
_NETWORK = "network.net.xml"


def corridor_network(
    corridor: Corridor,
    *,
    speed_factor: float,
    lanes: int,
    signalised: bool,
    cache_dir: Path,
    timeout_s: float,
) -> Path:
    """The network file of one variant of the corridor, built once per geometry."""
    plain = {
        "plain.nod.xml": _nodes(corridor, signalised),
        "plain.edg.xml": _edges(corridor, speed_factor, lanes),
        "plain.con.xml": _connections(lanes),
    }
    options = ["--node-files=plain.nod.xml", "--edge-files=plain.edg.xml"]
    options += ["--connection-files=plain.con.xml", "--no-turnarounds=true"]
    if signalised:
        plain["plain.tll.xml"] = _signal(corridor, lanes)
        options.append("--tllogic-files=plain.tll.xml")
    return converted(plain, options, cache_dir=cache_dir, timeout_s=timeout_s)


def converted(
    plain: dict[str, str], options: list[str], *, cache_dir: Path, timeout_s: float
) -> Path:
    """netconvert's network for these files and options, from the cache where it is there.

    The folder is named by the content and moved into place whole, so two processes that build the
    same network at once both end with a complete one.
    """
    key = hashlib.sha256(
        "\0".join(
            [engine.version(), *options, *(f"{k}\0{plain[k]}" for k in sorted(plain))]
        ).encode()
    ).hexdigest()[:32]
    folder = cache_dir / key
    if (folder / _NETWORK).is_file():
        return folder / _NETWORK
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=cache_dir))
    except OSError as error:
        raise RunError(
            f"the network cache {cache_dir} cannot be written ({error}): set cache_dir of the "
            "urban simulator to a folder that can"
        ) from None
    try:
        for name, text in plain.items():
            (work / name).write_text(text, encoding="utf-8")
        files = [_in_folder(option, work, plain) for option in options]
        command = [str(engine.program("netconvert")), *files, f"--output-file={work / _NETWORK}"]
        engine.call(command, timeout_s=timeout_s, what="netconvert")
        if not (work / _NETWORK).is_file():
            raise RunError("netconvert ended without writing a network")
        try:
            work.rename(folder)
        except OSError:  # another process was first; a folder in place is always complete
            if not (folder / _NETWORK).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder / _NETWORK


def _in_folder(option: str, folder: Path, plain: dict[str, str]) -> str:
    name, _, value = option.partition("=")
    return f"{name}={folder / value}" if value in plain else option


def _nodes(corridor: Corridor, signalised: bool) -> str:
    light = f'type="traffic_light" tl="{SIGNAL}"' if signalised else 'type="priority"'
    kinds = ('type="priority"', light, 'type="priority"')
    rows = [
        f'  <node id="n{index}" x="{index * corridor.half_length_m:g}" y="0" {kind}/>'
        for index, kind in enumerate(kinds)
    ]
    return "<nodes>\n" + "\n".join(rows) + "\n</nodes>\n"


def _edges(corridor: Corridor, speed_factor: float, lanes: int) -> str:
    speed = corridor.speed_limit_mps * speed_factor
    rows = [
        f'  <edge id="{name}" from="n{source}" to="n{target}" numLanes="{lanes}"'
        f' speed="{speed:.4f}"/>'
        for name, source, target in (
            (EASTBOUND[0], 0, 1),
            (EASTBOUND[1], 1, 2),
            (WESTBOUND[0], 2, 1),
            (WESTBOUND[1], 1, 0),
        )
    ]
    return "<edges>\n" + "\n".join(rows) + "\n</edges>\n"


def _connections(lanes: int) -> str:
    """Every lane goes on straight ahead."""
    rows = [
        f'  <connection from="{a}" to="{b}" fromLane="{lane}" toLane="{lane}"/>'
        for route in (EASTBOUND, WESTBOUND)
        for a, b in pairwise(route)
        for lane in range(lanes)
    ]
    return "<connections>\n" + "\n".join(rows) + "\n</connections>\n"


def _signal(corridor: Corridor, lanes: int) -> str:
    """A fixed-time program: one light for all lanes of both directions, so no index order."""
    links = [(*route, lane) for route in (EASTBOUND, WESTBOUND) for lane in range(lanes)]
    phases = [
        ("G", corridor.green_s),
        ("y", corridor.yellow_s),
        ("r", corridor.red_s),
    ]
    rows = [
        f'  <tlLogic id="{SIGNAL}" type="static" programID="0" offset="{-corridor.offset_s:g}">'
    ]
    rows += [f'    <phase duration="{s:g}" state="{c * len(links)}"/>' for c, s in phases]
    rows.append("  </tlLogic>")
    rows += [
        f'  <connection from="{a}" to="{b}" fromLane="{lane}" toLane="{lane}" tl="{SIGNAL}"'
        f' linkIndex="{index}"/>'
        for index, (a, b, lane) in enumerate(links)
    ]
    return "<tlLogics>\n" + "\n".join(rows) + "\n</tlLogics>\n"
