"""With one file more in the folder of languages, a language takes part in what languages do together."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import TestCase

from harness.languages import ROOT
from harness.tests import fake_language

LISTS = """
import json
from conformance import languages, public_suite, random_sessions, test_lacking, test_production, test_sessions
from conformance import test_faults_registries
from conformance.faults import kit
from conformance.runner.__main__ import all_ways, known
print(json.dumps({
    "programs": list(languages.PROGRAMS),
    "pairs": languages.PAIRS,
    "bench": [languages.bench_words(key, "HOST") for key in languages.PROGRAMS],
    "sessions": random_sessions.joined(),
    "production": test_production.PAIRS,
    "public": [[way.client and way.client.key, way.server.key] for way in public_suite.ways()],
    "public features": {way.server.key: way.features() for way in public_suite.ways() if not way.client},
    "public failures": [why for way in public_suite.ways() if not way.client for why in way.fails().values()],
    "themselves": [[one.client.key, one.server.key] for one in kit.THEMSELVES],
    "across": [[one.client.key, one.server.key] for one in kit.ACROSS],
    "servers": [one.server.key for one in kit.SERVERS],
    "stores": [[one.store, one.client.key, one.server.key] for one in test_faults_registries.shares(list("abcdefg"))],
    "h2spec": [one.key for one in languages.having("h2spec")],
    "lacking": [one.id for one in test_lacking.LACKING],
    "programs of sessions": [one.key for one in test_sessions.SESSIONS],
    "known": sorted(known()),
    "ways": [[way.client.name, way.server.name, way.transport] for way in all_ways()],
}))
"""


class NewLanguage(TestCase):
    def lists(self, absent: bool = False, **more: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            variables = fake_language.add(Path(folder), absent)
            variables.pop("TRUNKCALL_PAIRS", None)  # those that meet are the test's choice
            done = subprocess.run(
                [sys.executable, "-c", LISTS], cwd=ROOT, env=variables | more, capture_output=True, text=True
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        lists: dict[str, Any] = json.loads(done.stdout)
        return lists

    def test_it_meets_the_hub_and_itself(self) -> None:
        lists = self.lists()
        self.assertIn("ada", lists["programs"])
        self.assertIn("--tasks", str(lists["bench"]))
        met = [["ada", "go"], ["go", "ada"]]
        self.assertEqual([pair for pair in lists["pairs"] if "ada" in str(pair)], met)
        self.assertEqual(
            [pair for pair in lists["public"] if "ada" in str(pair)],
            [[None, "ada"], ["ada", "ada"], ["ada", "go"], ["go", "ada"]],
        )
        self.assertIn("ada", lists["programs of sessions"])
        self.assertIn(["ada", "ada"], lists["themselves"])
        self.assertEqual([pair for pair in lists["across"] if "ada" in str(pair)], met)
        self.assertIn("ada", lists["servers"])
        for store in ("etcd", "zookeeper", "consul", "consul-keys", "trunkcall", "file"):
            self.assertIn([store, "ada"], [[one[0], one[1]] for one in lists["stores"]])
            self.assertIn([store, "ada"], [[one[0], one[2]] for one in lists["stores"]])
        self.assertEqual([pair for pair in lists["sessions"] if "ada" in str(pair)], [["ada", "ada"], ["ada", "go"]])
        self.assertEqual(
            [pair for pair in lists["production"] if "ada" in str(pair)], [["ada", "ada"], ["ada", "go"], ["go", "ada"]]
        )

    def test_it_meets_all_where_all_meet(self) -> None:
        lists = self.lists(TRUNKCALL_PAIRS="all")
        for name in ("pairs", "production", "across"):
            self.assertIn(["ada", "python"], lists[name])
            self.assertIn(["python", "ada"], lists[name])
        self.assertIn(["ada", "python"], lists["sessions"])
        self.assertIn(["python", "ada", "tcp"], lists["ways"])

    def test_what_it_lacks_is_told(self) -> None:
        lists = self.lists()
        self.assertNotIn("ada", lists["h2spec"])
        self.assertIn("h2spec-ada", lists["lacking"])
        features = lists["public features"]["ada"]
        self.assertEqual(features["protocols"], ["PROTOCOL_CONNECT"])
        self.assertEqual(
            [features[f"supports{name}"] for name in ("Tls", "ConnectGet", "Trailers")], [False, False, True]
        )
        self.assertEqual(lists["public failures"], ["Ada is strict"])

    def test_one_whose_tools_are_missing_is_in_no_list_but_keeps_its_rows_of_the_matrix(self) -> None:
        for lists in (self.lists(absent=True), self.lists(absent=True, TRUNKCALL_PAIRS="all")):
            known = lists.pop("known")
            self.assertIn(["ada", "go"], known)
            self.assertIn(["curl, HTTP/2", "ada"], known)
            self.assertNotIn("ada", json.dumps(lists))

    def test_the_matrix_has_it_over_what_it_speaks(self) -> None:
        ways = self.lists()["ways"]
        own = [way for way in ways if "ada" in str(way)]
        for client, server in (("ada", "ada"), ("ada", "go"), ("go", "ada")):
            for transport in ("tcp", "unix"):
                self.assertIn([client, server, transport], own)
        self.assertIn(["curl, HTTP/2", "ada", "tcp"], own)  # it serves Connect
        self.assertIn(["ada, blocking", "go", "unix"], own)
        self.assertIn(["ada, blocking", "go"], self.lists()["known"])
        self.assertFalse([way for way in own if "tls" in str(way) or "python" in str(way) or "grpc" in str(way)])
