"""A language that there is not: its file beside those of the others, in a folder of its own, and tiny programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from harness.languages import ROOT

PEER = """#!/bin/sh
echo "listening 127.0.0.1:1"
"""
JUNIT = """#!/bin/sh
pwd >>"${0%/*}/folders"
cat >"$1" <<END
<testsuite><testcase classname="ada" name="adds"/><testcase classname="ada" name="subtracts"/></testsuite>
END
"""
OLD = '<testsuite><testcase classname="ada" name="divides"><failure/></testcase></testsuite>'
FILE = """
name = "Ada"
folder = "{folder}"
sources = ["{folder}/*.adb"]
echo = ["{folder}/echo"]
discovery = ["{folder}/discovery"]
clean = ["{folder}/obj"]

[[prerequisites]]
what = "GNAT"
command = "sh"
asks = ["-c", "echo gnat 13"]
least = "12"
variable = "GNAT"

[[environment]]
command = ["touch", "{folder}/environment"]

[[build]]
part = "peer"
command = ["cp", "{folder}/peer.sh", "{folder}/peer-ada"]

[[build]]
part = "peers"
command = ["touch", "{folder}/peers"]

[[format]]
command = ["touch", "{folder}/formatted"]

[[lint]]
command = ["touch", "{folder}/linted"]

[[generate]]
command = ["touch", "{folder}/generated"]

[[api]]
command = ["touch", "{folder}/api"]

[[reference]]
command = ["touch", "{folder}/reference"]

[[vectors]]
command = ["touch", "{folder}/vectors"]

[[checks]]
name = "style"
command = ["test", "-e", "{folder}/environment"]

[[tests]]
name = "tests"
command = ["{folder}/tests.sh", "{{junit}}"]
builds = ["peer"]
result = "junit"

[[tests]]
name = "examples"
command = ["{folder}/tests.sh", "{folder}/reports/TEST-new.xml"]
folders = ["spec", "{folder}"]
result = "junit"
reports = ["{glob}/reports/*.xml"]

[fuzz]
files = "{glob}/*.adb"
pattern = "procedure (Fuzz[A-Za-z]+)"
command = ["true", "{{target}}", "{{time}}"]
folder = "{folder}"

[peer]
program = ["{folder}/peer-ada"]
transports = ["tcp", "unix"]
protocols = ["native", "connect"]
session = ["{folder}/session-ada"]
bench = ["--tasks"]

[[peer.clients]]
name = "blocking"
flags = ["--blocking"]
lacks = {{ callback = "it serves nobody" }}

[[shows]]
title = "A program in Ada."
command = ["{folder}/shown"]

[production]
server = ["{folder}/peer-ada", "{{cert}}"]
client = ["{folder}/peer-ada", "{{ca}}"]

[newcomer]
files = []
answers = []

[lacks.client]
callback = "Ada takes no calls from its server yet"

[lacks.connect]
get = "Ada has no GET yet"

[fails.connect-server]
"a/case" = "Ada is strict"

[lacks.suites]
random-policies = "Ada does not read policy files"
h2spec = "Ada has no HTTP/2"
interop = "Ada has no stubs of gRPC"
"""


def add(folder: Path, absent: bool = False) -> dict[str, str]:
    """Writes it below a folder; the variables with which it is one of the languages. `absent` makes it one that is left
    out, for this machine has not its tools."""
    files, ada = folder / "languages", folder / "ada"
    files.mkdir()
    ada.mkdir()
    for path in (ROOT / "languages").glob("*.toml"):
        shutil.copy(path, files)
    glob = os.path.relpath(ada, ROOT)  # patterns are relative
    text = FILE.format(folder=ada, glob=glob).replace(f'sources = ["{ada}', f'sources = ["{glob}')
    if absent:
        text = "optional = true\n" + text.replace('least = "12"', 'least = "99"')
    (files / "ada.toml").write_text(text, encoding="utf-8")
    for name, program in (("peer.sh", PEER), ("peer-ada", PEER), ("session-ada", PEER), ("tests.sh", JUNIT)):
        (ada / name).write_text(program, encoding="utf-8")
        (ada / name).chmod(0o755)
    (ada / "reports").mkdir()
    (ada / "reports" / "TEST-old.xml").write_text(OLD, encoding="utf-8")
    (ada / "main.adb").write_text("procedure FuzzAddition is\n", encoding="utf-8")
    return {**os.environ, "TRUNKCALL_LANGUAGES": str(files)}
