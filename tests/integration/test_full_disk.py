"""A disk that is full: a small tmpfs below the cache folder, as a real disk in all that matters."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from simulrag.calls import CallCache, CallResult, cache_stats, export_cache, verify_cache
from simulrag.errors import EnvironmentFault

pytestmark = pytest.mark.slow

SIZE_KB = 3000
ROW = "x" * 50_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own. Only root may mount one, and not everywhere."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a tmpfs")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Payer:
    """Notes which calls were really made, and which of them were acknowledged."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.told: list[int] = []

    async def ask(self, cache: CallCache, count: int) -> None:
        """Ask for calls 0 to count - 1, until one fails."""
        for n in range(count):
            await cache.get_or_call("model", {"n": n}, self.call(n))
            self.told.append(n)

    def call(self, n: int) -> Callable[[], Awaitable[CallResult]]:
        async def make() -> CallResult:
            self.made.append(n)
            return CallResult({"n": n, "text": ROW})

        return make


async def test_a_run_that_ends_on_a_full_disk_names_what_is_lost_and_the_rerun_goes_on(
    disk: Path,
) -> None:
    payer, folder = Payer(), disk / "cache"
    cache = CallCache(folder, stage="a")
    with pytest.raises(EnvironmentFault, match="full"):
        await payer.ask(cache, 1000)
    with pytest.raises(EnvironmentFault, match=r"Paid-for results are lost: [0-9a-f]{64}"):
        cache.close()
    failed = len(payer.made) - 1
    _resize(disk, 3 * SIZE_KB)
    with CallCache(folder, stage="a") as cache:
        await payer.ask(cache, failed + 2)
    assert payer.made == [*range(failed), failed, failed, failed + 1]
    assert verify_cache(folder).problems == ()


def _opened(folder: Path) -> None:
    CallCache(folder, stage=None).close()


def _exported(folder: Path) -> None:
    export_cache(folder, folder.parent / "out.parquet")


@pytest.mark.parametrize("work", [_opened, verify_cache, cache_stats, _exported])
@pytest.mark.parametrize("disk_is", ["read-only", "with no room for a file"])
def test_a_disk_that_cannot_be_used_is_no_damaged_cache(
    disk: Path, work: Callable[[Path], object], disk_is: str
) -> None:
    _opened(disk / "cache")
    if disk_is == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    else:
        with contextlib.suppress(OSError):
            (disk / "filled").write_bytes(b"x" * (SIZE_KB * 2000))
    with pytest.raises(EnvironmentFault, match="cannot be used"):
        work(disk / "cache")


LIMITED = """
import resource, sys
from pathlib import Path
from simulrag.calls import CallCache, verify_cache, export_cache
from simulrag.errors import EnvironmentFault
resource.setrlimit(resource.LIMIT, (NUMBER, NUMBER))
try:
    WORK
except EnvironmentFault as error:
    sys.exit(f"fault: {error}")
"""


@pytest.mark.parametrize(
    "work", ["verify_cache(Path('cache'))", "CallCache(Path('cache'), stage='a')"]
)
@pytest.mark.parametrize(("limit", "number"), [("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 3)])
def test_a_limit_of_the_process_is_no_damaged_cache(
    tmp_path: Path, work: str, limit: str, number: int
) -> None:
    _opened(tmp_path / "cache")
    program = LIMITED.replace("LIMIT", limit).replace("NUMBER", str(number)).replace("WORK", work)
    done = subprocess.run(
        (sys.executable, "-c", program), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr.startswith("fault: the cache folder"), done.stderr
    assert "damaged" not in done.stderr


def _resize(disk: Path, size_kb: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size_kb}k", str(disk)], check=True)
