package io.trunkcall.registries;

import java.util.Optional;

final class ZooKeeperTest extends StoresTest {
  @Override
  Optional<RegistryProcess> process() throws Exception {
    return Optional.of(new ZooKeeperProcess(folder));
  }

  @Override
  String wanted() {
    return "zookeeper:HOST:PORT,…/ROOT?lease=SECONDS";
  }
}
