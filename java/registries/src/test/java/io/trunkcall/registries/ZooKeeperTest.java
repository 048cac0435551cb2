package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Client;
import io.trunkcall.registry.Place;
import io.trunkcall.registry.Registry;
import io.trunkcall.zookeeper.ZooKeeperStore;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;

final class ZooKeeperTest extends StoresTest {
  private ZooKeeperProcess server;

  @Override
  Optional<RegistryProcess> process() throws Exception {
    server = new ZooKeeperProcess(folder);
    return Optional.of(server);
  }

  @Override
  String wanted() {
    return "zookeeper:HOST:PORT,…/ROOT?lease=SECONDS";
  }

  @Test
  void aNodeThatMayNotBeReadHidesNobodyElse() throws Exception {
    server.hide(SERVICE, "hidden");
    publish("first");
    Client client = find();
    until(client, "first");
    server.hide(SERVICE, "second");
    publish("third");
    until(client, "first", "third");
    server.remove(SERVICE, "second");
    publish("second");
    until(client, "first", "second", "third");
  }

  @Test
  void nodesHaveTheRightsThatTheirServerGives() throws Exception {
    String rest = server.name().substring("zookeeper:".length());
    ACL readable = new ACL(ZooDefs.Perms.READ, ZooDefs.Ids.ANYONE_ID_UNSAFE);
    ACL own = new ACL(ZooDefs.Perms.ALL, ZooDefs.Ids.AUTH_IDS);
    ZooKeeperStore store =
        ZooKeeperStore.builder(Place.parse(rest).orElseThrow())
            .auth("digest", "me:secret")
            .acl(List.of(readable, own))
            .build();
    publish(store, "first");
    until(find(), "first"); // who has said nothing of itself
  }

  /** Nothing is bound to a watcher's session, and it is to notice silence (registry.md 10.1). */
  @Test
  void sessionsOfWatchersAreShort() throws Exception {
    publish("first");
    until(find(Registry.openStore(server.name() + "?lease=20")), "first");
    assertEquals(15_000, Collections.max(server.leases()));
  }
}
