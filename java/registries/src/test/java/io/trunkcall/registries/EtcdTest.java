package io.trunkcall.registries;

import java.nio.file.Path;
import java.util.Optional;

final class EtcdTest extends StoresTest {
  @Override
  Optional<RegistryProcess> process() throws Exception {
    Optional<Path> program = RegistryProcess.program("etcd", "debian/usr/bin/etcd");
    return program.isEmpty()
        ? Optional.empty()
        : Optional.of(new EtcdProcess(program.get(), folder));
  }

  @Override
  String wanted() {
    return "etcd:HOST:PORT,…/ROOT?lease=SECONDS";
  }
}
