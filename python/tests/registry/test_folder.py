"""Folders as registries: what a look sees of files, and what keeps and cleans them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from trunkcall.registry import Folder, Record, Written
from trunkcall.registry.folder import CLEANED, LEFT_BEHIND, Keeping, Looking


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(".new")
    new.write_text(text)
    new.rename(path)


class Looks:
    """Looks each second of a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.looking = Looking(folder, "users")
        self.now = 0.0

    def after(self, seconds: float = 0.0) -> list[str]:
        """What came and went until then."""
        found: list[str] = []
        end = self.now + seconds
        while True:
            came, went = self.looking.look(self.now)
            found += [f"+{Path(one.id).name} {one.fault or one.data.decode()}" for one in came]
            found += [f"-{Path(one).name}" for one in went]
            if self.now >= end:
                return sorted(found)
            self.now += 1.0


def test_files_are_followed(tmp_path: Path) -> None:
    looks, place = Looks(tmp_path), tmp_path / "users"
    assert looks.after() == []
    put(place / "a.json", "1")
    put(place / "b.lease", "2")
    put(place / ".hidden", "3")
    assert looks.after() == ["+a 1", "+b 2"]
    put(place / "a.json", "4")
    put(place / "b.json", "by hand")
    assert looks.after() == ["+a 4", "+b by hand"]
    (place / "b.json").unlink()
    assert looks.after() == ["+b 2"]
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    assert looks.after() == ["-a", "-b"]
    tmp_path.rmdir()
    with pytest.raises(FileNotFoundError):
        looks.after()


def test_a_lease_ends_unless_it_is_renewed(tmp_path: Path) -> None:
    looks, lease = Looks(tmp_path), tmp_path / "users" / "a.lease"
    put(lease, "1")
    put(tmp_path / "users" / "b.json", "2")
    assert looks.after(14) == ["+a 1", "+b 2"]
    put(lease, "1")  # another file with the same bytes
    assert looks.after() == []
    assert looks.after(14) == []
    assert looks.after(1) == ["-a"]
    assert looks.after(1000) == []
    put(lease, "1")
    assert looks.after() == ["+a 1"]


def test_a_lease_is_not_measured_while_nobody_looks(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    put(tmp_path / "users" / "a.lease", "1")
    assert looks.after() == ["+a 1"]
    looks.now += 3600  # the process was stopped
    assert looks.after(14) == []
    assert looks.after(1) == ["-a"]


def test_what_is_no_record_is_told_by_its_path(tmp_path: Path) -> None:
    place = tmp_path / "users"
    put(place / "notes.txt", "")
    put(place / "long.json", "x" * 16_391)
    (place / "folder.json").mkdir()
    os.mkfifo(place / "pipe.json")
    (place / "link.json").symlink_to(place / "nowhere")
    came, _ = Looking(tmp_path, "users").look(0.0)
    assert {Path(one.place).name: one.fault for one in came} == {
        "notes.txt": "want a file ID.lease or ID.json with an id before that",
        "long.json": "record of 16391 bytes, at most 16384",
        "folder.json": "want a file, not a folder or the like",
        "pipe.json": "want a file, not a folder or the like",
    }


def written(ident: str = "a") -> Written:
    record = Record(service="users", id=ident, addresses=("a:1",))
    return Written(record, record.to_bytes())


def test_left_behind_files_are_removed_and_no_others(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path, [written()])
    keeping.write()
    for name in ("dead.lease", ".dead.1.tmp", "by-hand.json", ".other"):
        put(tmp_path / "users" / name, "x")
    for at in (0.0, LEFT_BEHIND - 1):
        keeping.clean(at)
        keeping.write()  # a renewal
    assert len(list((tmp_path / "users").iterdir())) == 5
    keeping.clean(LEFT_BEHIND + CLEANED)
    assert sorted(path.name for path in (tmp_path / "users").iterdir()) == [".other", "a.lease", "by-hand.json"]


def test_what_is_kept_is_withdrawn_unless_it_is_another_s(tmp_path: Path) -> None:
    async def kept(spoil: str) -> None:
        there = asyncio.Event()
        task = asyncio.create_task(Folder(tmp_path).keep([written()], there.set))
        await there.wait()
        assert (tmp_path / "users" / "a.lease").read_bytes() == written().data
        if spoil:
            put(tmp_path / "users" / "a.lease", spoil)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(kept(""))
    assert list((tmp_path / "users").iterdir()) == []
    asyncio.run(kept("of another"))
    assert (tmp_path / "users" / "a.lease").read_text() == "of another"
