"""Folders as registries: what a look sees of files, and what keeps and cleans them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from trunkcall.registry import Folder, Record, RegistryError, Written, parse
from trunkcall.registry.folder import CLEANED, LEASE, LEFT_BEHIND, RENEWED, Keeping, Looking


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(".new")
    new.write_text(text)
    new.rename(path)


def version(ident: str, text: str) -> str:
    """The bytes of a record of a version."""
    return Record(service="users", id=ident, addresses=("a:1",), version=text).to_bytes().decode()


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
            found += [f"+{Path(one.id).name} {'rubbish' if one.fault else parse(one.data).version}" for one in came]
            found += [f"-{Path(one).name}" for one in went]
            if self.now >= end:
                return sorted(found)
            self.now += 1.0


def test_files_are_followed(tmp_path: Path) -> None:
    looks, place = Looks(tmp_path), tmp_path / "users"
    assert looks.after() == []
    put(place / "a.json", version("a", "1"))
    put(place / "b.lease", version("b", "2"))
    put(place / ".hidden", version("hidden", "3"))
    assert looks.after() == ["+a 1", "+b 2"]
    put(place / "a.json", version("a", "4"))
    put(place / "b.json", version("b", "by hand"))
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
    put(lease, version("a", "1"))
    put(tmp_path / "users" / "b.json", version("b", "2"))
    assert looks.after(14) == ["+a 1", "+b 2"]
    put(lease, version("a", "1"))  # another file with the same bytes
    assert looks.after() == []
    assert looks.after(14) == []
    assert looks.after(1) == ["-a"]
    assert looks.after(1000) == []
    put(lease, version("a", "1"))
    assert looks.after() == ["+a 1"]


def test_a_lease_is_not_measured_while_nobody_looks(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    put(tmp_path / "users" / "a.lease", version("a", "1"))
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
    (place / "loop.lease").symlink_to(place / "loop.lease")
    came, _ = Looking(tmp_path, "users").look(0.0)
    faults = {Path(one.place).name: one.fault for one in came}
    assert "symbolic links" in faults.pop("loop.lease")  # it cannot be looked at
    assert faults == {
        "notes.txt": "want a file ID.lease or ID.json with an id before that",
        "long.json": "record of 16391 bytes, at most 16384",
        "folder.json": "want a file, not a folder or the like",
        "pipe.json": "want a file, not a folder or the like",
    }


def written(address: str = "a:1") -> Written:
    record = Record(service="users", id="a", addresses=(address,))
    return Written(record, record.to_bytes())


def test_left_behind_files_are_removed_and_no_others(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path, [written()], set(), set())
    keeping.write(0.0)
    for name in ("dead.lease", ".dead.1.tmp", "by-hand.json", ".other"):
        put(tmp_path / "users" / name, "x")
    for at in (0.0, LEFT_BEHIND - 1):
        keeping.clean(at)
        keeping.write(at)  # a renewal
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


@pytest.mark.parametrize("renaming", [False, True])
def test_of_records_of_which_one_cannot_be_written_none_stands(tmp_path: Path, renaming: bool) -> None:
    records = [Record(service=service, id="a", addresses=("a:1",)) for service in ("users", "orders")]
    if renaming:
        (tmp_path / "orders" / "a.lease" / "x").mkdir(parents=True)
    else:
        (tmp_path / "orders").touch()
    keeping = Keeping(tmp_path, [Written(one, one.to_bytes()) for one in records], set(), set())
    with pytest.raises(OSError):
        keeping.write(0.0)
    assert list((tmp_path / "users").iterdir()) == []
    assert not renaming or [one.name for one in (tmp_path / "orders").iterdir()] == ["a.lease"]


def test_the_first_of_two_servers_under_a_key_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, other, lease = written(), written("b:1"), tmp_path / "users" / "a.lease"
    yielded: set[tuple[Path, bytes]] = set()
    holder, newcomer = Keeping(tmp_path, [ours], set(), set()), Keeping(tmp_path, [other], yielded, set())
    holder.write(0.0)
    newcomer.write(1.0)
    assert lease.read_bytes() == other.data  # nobody can tell yet whether what was there is alive
    holder.write(RENEWED)
    assert lease.read_bytes() == ours.data
    assert caplog.messages == ["users/a: another server is published under this id, at b:1"]
    with pytest.raises(RegistryError, match=r"^users/a: another server is published under this id, at a:1$"):
        newcomer.write(1.0 + RENEWED)
    assert lease.read_bytes() == ours.data
    again = Keeping(tmp_path, [other], yielded, set())
    for second in range(60):  # as long as it is renewed
        if second % 5 == 0:
            holder.write(float(second))
        assert not again.is_free(float(second))
    assert not again.is_free(60.0 + 3600)  # nobody looked meanwhile
    times = [second for second in range(60) if again.is_free(3661.0 + second)]
    assert times[0] == 10  # after 15 seconds without a change, of which five were before
    again.write(3700.0)
    assert lease.read_bytes() == other.data


def test_a_newcomer_waits_no_longer_than_the_file_is_there(tmp_path: Path) -> None:
    ours, other = written(), written("b:1")
    Keeping(tmp_path, [ours], set(), set()).write(0.0)
    yielded: set[tuple[Path, bytes]] = set()
    newcomer = Keeping(tmp_path, [other], yielded, set())
    newcomer.write(0.0)
    put(tmp_path / "users" / "a.lease", ours.data.decode())
    with pytest.raises(RegistryError):
        newcomer.write(RENEWED)
    assert not newcomer.is_free(RENEWED)
    (tmp_path / "users" / "a.lease").unlink()
    assert newcomer.is_free(RENEWED) and not yielded


def test_a_file_that_has_been_its_own_for_a_lease_is_held(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, lease = written(), tmp_path / "users" / "a.lease"
    put(lease, written("left:1").data.decode())  # by who was killed
    keeping = Keeping(tmp_path, [ours], set(), set())
    for at in (0.0, RENEWED, LEASE):
        keeping.write(at)
    put(lease, "rubbish")
    keeping.write(LEASE + 1)
    assert lease.read_bytes() == ours.data and not caplog.messages
    put(lease, written("b:1").data.decode())
    keeping.write(LEASE + 2)
    assert lease.read_bytes() == ours.data and caplog.messages


def test_what_cannot_be_looked_at_is_overwritten(tmp_path: Path) -> None:
    ours, lease = written(), tmp_path / "users" / "a.lease"
    lease.parent.mkdir()
    lease.symlink_to(lease)
    keeping = Keeping(tmp_path, [ours], set(), set())
    keeping.write(0.0)
    assert lease.read_bytes() == ours.data
    lease.unlink()
    lease.symlink_to(lease)
    keeping.write(RENEWED)
    assert lease.read_bytes() == ours.data
    put(lease, written("b:1").data.decode())
    with pytest.raises(RegistryError):  # nobody can tell whether what was there first was rubbish for long
        keeping.write(2 * RENEWED)


def test_who_held_a_key_holds_it_after_a_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, other, lease = written(), written("b:1"), tmp_path / "users" / "a.lease"
    held: set[tuple[Path, bytes]] = set()
    keeping = Keeping(tmp_path, [ours], set(), held)
    keeping.write(0.0)
    away = lease.parent.rename(tmp_path / "away")
    lease.parent.write_text("no folder")
    with pytest.raises(NotADirectoryError):
        keeping.write(RENEWED)
    lease.parent.unlink()
    away.rename(lease.parent)
    again = Keeping(tmp_path, [ours], set(), held)
    again.write(RENEWED + 1)
    put(lease, other.data.decode())
    again.write(2 * RENEWED)
    assert lease.read_bytes() == ours.data and len(caplog.messages) == 1
    # Whoever finds another's bytes there is a newcomer all the same, and so is who has never held it.
    for bytes_there, known in ((other, {(lease, ours.data)}), (ours, set[tuple[Path, bytes]]())):
        put(lease, bytes_there.data.decode())
        newcomer = Keeping(tmp_path, [ours], set(), known)
        newcomer.write(100.0)
        put(lease, other.data.decode())
        with pytest.raises(RegistryError):
            newcomer.write(100.0 + RENEWED)
