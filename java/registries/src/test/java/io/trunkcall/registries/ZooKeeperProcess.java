package io.trunkcall.registries;

import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Transaction;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** ZooKeeper's server, in this process: it lies in the same file as its client. */
final class ZooKeeperProcess implements RegistryProcess {
  private static final int TICK = 1_000; // ms

  private final File folder;
  private final int port = RegistryProcess.port();
  private ZooKeeperServer server;
  private ServerCnxnFactory factory;

  ZooKeeperProcess(Path folder) throws IOException {
    this.folder = folder.toFile();
  }

  @Override
  public void start() throws Exception {
    server = new ZooKeeperServer(folder, folder, TICK);
    factory = new NIOServerCnxnFactory();
    factory.configure(new InetSocketAddress("127.0.0.1", port), 1_000);
    factory.startup(server);
  }

  @Override
  public void stop() {
    factory.shutdown();
  }

  @Override
  public void close() {
    stop();
  }

  @Override
  public String name() {
    return "zookeeper:127.0.0.1:" + port;
  }

  /** Carries out something by a client of its own. */
  private interface Work<T> {
    T with(ZooKeeper client) throws Exception;
  }

  private <T> T work(Work<T> work) throws Exception {
    try (ZooKeeper client = new ZooKeeper("127.0.0.1:" + port, 20 * TICK, event -> {})) {
      return work.with(client);
    }
  }

  @Override
  public Map<String, byte[]> entries(String service) throws Exception {
    return work(
        client -> {
          Map<String, byte[]> found = new TreeMap<>();
          String node = "/trunkcall/v1/" + service;
          List<String> ids =
              client.exists(node, false) == null ? List.of() : client.getChildren(node, false);
          for (String id : ids) {
            found.put(id, client.getData(node + "/" + id, false, null));
          }
          return found;
        });
  }

  @Override
  public void put(String service, String id, byte[] data) throws Exception {
    work(
        client -> {
          String path = "";
          for (String part : List.of("trunkcall", "v1", service)) {
            path += "/" + part;
            if (client.exists(path, false) == null) {
              client.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
          }
          String node = path + "/" + id;
          Transaction all = client.transaction();
          if (client.exists(node, false) != null) {
            all.delete(node, -1);
          }
          return all.create(node, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
              .commit();
        });
  }

  /** Makes a node that nobody may read. */
  void hide(String service, String id) throws Exception {
    put(service, id, new byte[0]);
    ACL nobodys = new ACL(ZooDefs.Perms.ALL, new Id("digest", "nobody:?"));
    List<ACL> only = Collections.singletonList(nobodys); // the library asks whether null is in it
    work(client -> client.setACL("/trunkcall/v1/" + service + "/" + id, only, -1));
  }

  /** For how many milliseconds sessions last. */
  Collection<Integer> leases() {
    return server.getZKDatabase().getSessionWithTimeOuts().values();
  }

  @Override
  public void remove(String service, String id) throws Exception {
    work(
        client -> {
          try {
            client.delete("/trunkcall/v1/" + service + "/" + id, -1);
          } catch (KeeperException.NoNodeException gone) {
            // Then it need not be removed.
          }
          return null;
        });
  }

  @Override
  public void expire() {
    server.getSessionTracker().globalSessions().forEach(server::closeSession);
  }
}
