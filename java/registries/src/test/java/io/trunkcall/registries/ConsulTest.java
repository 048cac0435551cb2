package io.trunkcall.registries;

import java.nio.file.Path;
import java.util.Optional;

final class ConsulTest extends StoresTest {
  @Override
  Optional<RegistryProcess> process() throws Exception {
    Optional<Path> program = RegistryProcess.program("consul", "consul");
    return program.isEmpty()
        ? Optional.empty()
        : Optional.of(new ConsulProcess(program.get(), folder));
  }

  @Override
  String wanted() {
    return "consul:HOST:PORT/ROOT?lease=SECONDS";
  }
}
