"""What the stock gRPC plugin makes of grpc_testing.proto, made anew when it is imported: `pb`, `stubs`."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROTO = Path(__file__).with_name("grpc_testing.proto")


def _generated() -> tuple[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}", *out, str(PROTO)]
        subprocess.run(command, check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("grpc_testing_pb2"), importlib.import_module("grpc_testing_pb2_grpc")
        finally:
            sys.path.remove(folder)


pb, stubs = _generated()
