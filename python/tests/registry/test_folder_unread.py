"""What a watcher of a folder makes of files that the system does not let be looked at or read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from .test_folder import Looks, put, version


def test_what_could_not_be_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of descriptors as a rule. Until then it counts as it was; what is read again has not changed, for its
    lease."""
    place, looks = tmp_path / "users", Looks(tmp_path)
    opens = os.open
    full = True

    def opened(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if full and str(path).startswith(str(place)):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return opens(path, flags, mode, dir_fd=dir_fd)

    put(place / "a.json", version("a", "1"))
    put(place / "b.lease", version("b", "1"))
    monkeypatch.setattr("trunkcall.registry.folder.os.open", opened)
    assert looks.after() == ["+a rubbish", "+b rubbish"]
    assert looks.after() == []
    full = False
    assert looks.after() == ["+a 1", "+b 1"]

    put(place / "b.lease", version("b", "2"))
    full = True
    assert looks.after(9) == ["+b rubbish"]
    full = False
    assert looks.after() == ["+b 2"]
    assert looks.after(4) == []
    assert looks.after(4) == ["-b"]  # 15 s after it was written, however late it was read


def test_a_file_that_cannot_be_looked_at_renews_no_lease(tmp_path: Path) -> None:
    """Nobody knows whether it is renewed meanwhile."""
    folder, elsewhere, aside = tmp_path / "folder", tmp_path / "elsewhere", tmp_path / "aside"
    folder.mkdir()
    put(elsewhere / "a.lease", version("a", "1"))
    put(folder / "users" / "b.json", version("b", "1"))
    (folder / "users" / "a.lease").symlink_to(elsewhere / "a.lease")
    looks = Looks(folder)
    assert looks.after() == ["+a 1", "+b 1"]

    def away() -> None:
        elsewhere.rename(aside)
        elsewhere.symlink_to(elsewhere)  # a loop, which not even root gets through

    def back() -> None:
        elsewhere.unlink()
        aside.rename(elsewhere)

    away()
    assert looks.after(6) == ["+a rubbish"]
    back()
    assert looks.after() == ["+a 1"]  # it has not changed
    away()
    assert looks.after(8) == ["+a rubbish"]
    assert looks.after(2) == ["-a"]
    back()
    assert looks.after(1) == []
    put(elsewhere / "a.lease", version("a", "1"))
    assert looks.after() == ["+a 1"]
