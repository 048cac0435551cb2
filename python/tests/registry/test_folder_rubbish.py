"""What a watcher of a folder holds of it: records so far, and next to nothing of what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkcall import Endpoint
from trunkcall.registry import Entry, RegistryError
from trunkcall.registry.folder import MOST_RUBBISH, Looking
from trunkcall.registry.place import MOST_TOTAL
from trunkcall.registry.record import MOST_BYTES
from trunkcall.registry.view import View

from .test_folder import Looks, put, version


def test_a_folder_holds_no_more_than_other_registries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_TOTAL == 64 << 20
    monkeypatch.setattr("trunkcall.registry.place.MOST_TOTAL", 4 * MOST_BYTES)
    looks = Looks(tmp_path)
    for ident in "abc":
        put(tmp_path / "users" / f"{ident}.json", version(ident, "1").ljust(MOST_BYTES))
    assert looks.after() == ["+a 1", "+b 1", "+c 1"]
    put(tmp_path / "users" / "d.lease", version("d", "1").ljust(MOST_BYTES))
    with pytest.raises(RegistryError, match=r"^4 entries of 65540 bytes, at most 100000 of 65536$"):
        looks.after()


class Telling:
    """Looks, and says what is told of it."""

    def __init__(self, folder: Path) -> None:
        self._looking = Looking(folder, "users")
        self.endpoints: list[str] = []
        self._left: list[str] = []
        self._view = View("users", self._hand, self._left_out, *[self._never] * 3)
        self._now = 0.0

    def _hand(self, at: float, endpoints: list[Endpoint]) -> None:
        self.endpoints = [str(one.attributes["version"]) for one in endpoints]

    def _left_out(self, at: float, entries: list[tuple[Entry, str]], more: int) -> None:
        self._left += [f"{Path(one.place).name}: {why}" for one, why in entries] + [f"{more} more"] * (more > 0)

    def _never(self, at: float, *told: object) -> None:
        raise AssertionError(told)

    def look(self) -> tuple[list[Entry], list[str]]:
        """The entries that came, and which are told to be left out."""
        came, went = self._looking.look(self._now)
        assert not went and not any(one.data for one in came if one.fault)  # no bytes of rubbish are held
        self._left.clear()
        self._view.change(self._now, came, went)
        self._now += 1.0
        return came, self._left.copy()


def test_rubbish_holds_up_no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is no record: it is told of once, nothing of it is held, and records are found and followed."""
    assert MOST_RUBBISH == 10_000
    most = 20
    monkeypatch.setattr("trunkcall.registry.folder.MOST_RUBBISH", most)
    monkeypatch.setattr("trunkcall.registry.place.MOST_TOTAL", 4 * MOST_BYTES)
    place, rubbish = tmp_path / "users", tmp_path / "rubbish"
    put(place / "zz.json", version("zz", "1"))
    rubbish.write_bytes(bytes(MOST_BYTES))
    for number in reversed(range(most + 5)):
        (place / f"{number:06}.json").symlink_to(rubbish)
    telling = Telling(tmp_path)
    came, left = telling.look()
    assert telling.endpoints == ["1"]
    assert sorted(one.id for one in came) == sorted([str(place), *(f"{n:06}" for n in range(most)), "zz"])
    assert left[0] == "users: more than 20 files are no records"
    assert left[1].startswith("000000.json: not a JSON object") and left[-1] == "13 more"
    assert telling.look() == ([], [])
    put(place / "zz.json", version("zz", "2"))
    assert telling.look()[1] == [] and telling.endpoints == ["2"]


def test_a_record_that_becomes_rubbish_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """See spec/registry.md 6.2, 7.3."""
    monkeypatch.setattr("trunkcall.registry.folder.MOST_RUBBISH", 1)
    place = tmp_path / "users"
    put(place / "zz.json", version("zz", "1"))
    put(place / "a.json", "rubbish")
    telling = Telling(tmp_path)
    telling.look()
    for text in ("{1", "{2"):  # for which the same is told
        put(place / "zz.json", text)
        _, left = telling.look()
        assert len(left) == 1 and left[0].startswith("zz.json: not a JSON object") and telling.endpoints == ["1"]
        put(place / "zz.json", text)  # another file with the same bytes
        assert telling.look() == ([], [])
    put(place / "zz.json", version("zz", "3"))
    assert telling.look()[1] == [] and telling.endpoints == ["3"]
