"""An authority that signs certificates for tests, by the library trustme."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as files."""

    cert: Path
    key: Path

    def flags(self) -> list[str]:
        return ["--tls-cert", str(self.cert), "--tls-key", str(self.key)]


class Authority:
    """Signs certificates, and keeps them as files in a folder. `file` is its own. Several in a folder have names."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._stem = folder / name
        self._authority = trustme.CA()
        self._count = 0
        self.file = folder / f"{name}.pem"
        self._authority.cert_pem.write_to_path(self.file)

    def server(self, *hosts: str) -> Identity:
        return self._issue(*(hosts or ("127.0.0.1", "localhost")))

    def client(self) -> Identity:
        return self._issue("client", common_name="client")

    def _issue(self, *hosts: str, common_name: str | None = None) -> Identity:
        self._count += 1
        stem = f"{self._stem}-{self._count}"
        made = Identity(Path(f"{stem}.pem"), Path(f"{stem}.key"))
        issued = self._authority.issue_cert(*hosts, common_name=common_name)
        issued.cert_chain_pems[0].write_to_path(made.cert)
        issued.private_key_pem.write_to_path(made.key)
        return made
