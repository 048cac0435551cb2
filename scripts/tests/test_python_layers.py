"""Python's layers: what may be imported from where."""

from __future__ import annotations

import unittest

from scripts.python_layers import faults, place


class Layers(unittest.TestCase):
    def test_downward_and_standard_imports_pass(self) -> None:
        self.assertEqual(
            faults("trunkcall.wire.frame", "import struct\nfrom . import metadata\nfrom .status import Status\n"), []
        )
        self.assertEqual(faults("trunkcall.transport.dialer", "import asyncio\nfrom trunkcall.wire import frame\n"), [])
        self.assertEqual(
            faults("trunkcall.client", "from google.protobuf import message\nfrom .transport import dialer\n"), []
        )
        self.assertEqual(faults("peer.serve", "import trunkcall\nfrom bench.v1 import bench_pb2\nimport load\n"), [])

    def test_upward_imports_fail_however_they_are_written(self) -> None:
        for line in (
            "from trunkcall import transport",
            "from trunkcall.transport import dialer",
            "import trunkcall.transport.dialer",
            "from .. import transport",
            "from ..transport import dialer",
            "from .. import Client",
            "from trunkcall import *",
            "import trunkcall",
            "def late():\n    from ..transport import dialer",
        ):
            with self.subTest(line):
                self.assertEqual(len(faults("trunkcall.wire.frame", line)), 1)

    def test_a_package_counts_from_itself(self) -> None:
        self.assertEqual(
            faults("trunkcall.wire", "from . import frame\nfrom .frame import Frame\n", is_package=True), []
        )
        self.assertEqual(len(faults("trunkcall.wire", "from .. import client\n", is_package=True)), 1)

    def test_foreign_modules_fail_where_they_are_not_allowed(self) -> None:
        self.assertEqual(
            faults("trunkcall.wire.frame", "from google.protobuf import message"),
            ["trunkcall.wire.frame imports google.protobuf"],
        )
        self.assertEqual(len(faults("trunkcall.client", "import grpc\n")), 1)
        self.assertEqual(faults("trunkcall.grpcstub.channel", "import grpc.aio\n"), [])
        self.assertEqual(len(faults("trunkcall.grpcstub.channel", "import grpcio_tools\n")), 1)

    def test_a_program_sees_the_public_package_only(self) -> None:
        self.assertEqual(len(faults("peer.serve", "from trunkcall.wire import frame")), 1)

    def test_a_folder_without_a_place_fails(self) -> None:
        self.assertIsNone(place("attic.old"))
        self.assertEqual(len(faults("attic.old", "")), 1)


if __name__ == "__main__":
    unittest.main()
