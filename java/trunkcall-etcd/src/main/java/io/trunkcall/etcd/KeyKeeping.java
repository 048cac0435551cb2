package io.trunkcall.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Written;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Publishes records under one lease. Used by one thread. */
final class KeyKeeping {
  private static final int AT_ONCE =
      60; // keys of a transaction: of the longest records etcd takes 1.5 MiB
  private static final int RENEWS = 3; // in a lease
  private static final Duration WITHDRAWN = Duration.ofSeconds(5);

  private final Client client;
  private final Duration lease;
  private final Map<ByteSequence, Written> records = new LinkedHashMap<>(); // by key
  private final Answers answers = new Answers();
  private long id; // of the lease; 0: there is none

  KeyKeeping(Client client, String root, Duration lease, List<Written> records) {
    this.client = client;
    this.lease = lease;
    records.forEach(one -> this.records.put(EtcdStore.bytes(root + one), one));
  }

  /** Until the thread is interrupted; then it withdraws them. */
  void keep(Runnable published) throws Exception {
    KeyLooking.Told told = new KeyLooking.Told();
    List<Watch.Watcher> watching = new ArrayList<>();
    try {
      long revision = put();
      for (ByteSequence key : records.keySet()) {
        WatchOption from =
            WatchOption.builder().withRevision(revision).withRequireLeader(true).build();
        watching.add(client.getWatchClient().watch(key, from, told));
      }
      published.run();
      renew(told);
    } catch (InterruptedException end) {
      if (id != 0) {
        Answers.await(client.getLeaseClient().revoke(id), WITHDRAWN);
      }
    } finally {
      watching.forEach(Watch.Watcher::close);
    }
  }

  /** Writes the records under a new lease, unless one is another server's. Returns the revision. */
  private long put() throws Exception {
    List<Cmp> unchanged = new ArrayList<>();
    for (Map.Entry<ByteSequence, Written> one : records.entrySet()) {
      long seen = 0;
      for (KeyValue there : answers.get(client.getKVClient().get(one.getKey())).getKvs()) {
        one.getValue().checkReplaces(there.getValue().getBytes());
        seen = there.getModRevision();
      }
      unchanged.add(new Cmp(one.getKey(), Cmp.Op.EQUAL, CmpTarget.modRevision(seen)));
    }
    id = Answers.await(client.getLeaseClient().grant(lease.toSeconds()), Answers.WITHIN).getID();
    PutOption under = PutOption.builder().withLeaseId(id).build();
    List<Op> puts = new ArrayList<>();
    records.forEach((key, one) -> puts.add(Op.put(key, ByteSequence.from(one.data()), under)));
    long revision = 0;
    for (int from = 0; from < puts.size(); from += AT_ONCE) {
      int to = Math.min(from + AT_ONCE, puts.size());
      TxnResponse done =
          answers.get(
              client
                  .getKVClient()
                  .txn()
                  .If(unchanged.subList(from, to).toArray(Cmp[]::new))
                  .Then(puts.subList(from, to).toArray(Op[]::new))
                  .commit());
      if (!done.isSucceeded()) {
        throw new RegistryException("another server has published there at the same time");
      }
      revision = revision == 0 ? done.getHeader().getRevision() : revision;
    }
    return revision;
  }

  /** Returns only by a failure: when the lease is lost, or a record is not what was written. */
  private void renew(KeyLooking.Told told) throws Exception {
    long each = lease.toNanos() / RENEWS;
    long next = System.nanoTime() + each;
    while (true) {
      long wait = Math.max(next - System.nanoTime(), 0);
      for (WatchEvent event : told.next(Duration.ofNanos(wait))) {
        look(event);
      }
      if (System.nanoTime() - next >= 0) {
        next = System.nanoTime() + each;
        LeaseKeepAliveResponse answer =
            Answers.await(client.getLeaseClient().keepAliveOnce(id), Answers.WITHIN);
        if (answer.getTTL() <= 0) {
          throw new RegistryException("the lease was lost");
        }
      }
    }
  }

  private void look(WatchEvent event) throws RegistryException {
    Written own = records.get(event.getKeyValue().getKey());
    boolean removed = event.getEventType() == WatchEvent.EventType.DELETE;
    if (own != null
        && (removed || !event.getKeyValue().getValue().equals(ByteSequence.from(own.data())))) {
      throw new RegistryException(own + " was removed, or written by somebody else");
    }
  }
}
