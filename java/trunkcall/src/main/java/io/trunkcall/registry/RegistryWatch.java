package io.trunkcall.registry;

import com.google.protobuf.UnsafeByteOperations;
import com.trunkcall.registry.v1.WatchAnswer;
import io.trunkcall.Sender;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** A call of Watch (registry.md 9.5). */
final class RegistryWatch extends RegistryCall<WatchAnswer> {
  private static final int MOST_PENDING = 1_024; // ids of changes that it has not taken
  private static final int MOST_ENTRIES = 1_000; // or ids, in an answer
  private static final int MOST_BYTES = 256 << 10; // of records in an answer

  private final String service;
  private final Queue<Part> parts = new ArrayDeque<>(); // of what is being told
  private boolean all; // that there is, is to be told
  private Map<String, Optional<Entry>> pending = new LinkedHashMap<>(); // else; empty: it went

  RegistryWatch(RegistryServer registry, long number, Sender<WatchAnswer> answers, String service) {
    super(registry, number, answers);
    this.service = service;
  }

  @Override
  void begun() {
    registry.event(() -> registry.core().watch(number, service));
  }

  @Override
  void take(RegistryCore.Telling what) {
    if (what.all()) {
      tellAll();
    } else if (!all) {
      what.came().forEach(one -> pending.put(one.id(), Optional.of(one)));
      what.went().forEach(id -> pending.put(id, Optional.empty()));
      if (pending.size() > MOST_PENDING) {
        tellAll();
      }
    }
  }

  private void tellAll() {
    all = true;
    pending.clear();
  }

  @Override
  @Nullable WatchAnswer next() {
    if (parts.isEmpty()) {
      if (all) {
        all = false;
        boolean unsure = registry.core().isUnsure();
        split(
            unsure ? WatchAnswer.Kind.KIND_PARTIAL : WatchAnswer.Kind.KIND_ALL,
            registry.core().entries(service),
            List.of());
      } else if (!pending.isEmpty()) {
        List<String> went = new ArrayList<>();
        pending.forEach(
            (id, entry) -> {
              if (entry.isEmpty()) {
                went.add(id);
              }
            });
        List<Entry> came = pending.values().stream().flatMap(Optional::stream).toList();
        pending = new LinkedHashMap<>();
        split(WatchAnswer.Kind.KIND_CHANGE, came, went);
      }
    }
    Part next = parts.poll();
    return next == null ? null : next.answer();
  }

  /** Cuts a telling into as many answers as it takes. Each is made when it is taken. */
  private void split(WatchAnswer.Kind kind, Collection<Entry> came, Collection<String> went) {
    List<Entry> entries = new ArrayList<>();
    int bytes = 0;
    for (Entry one : came) {
      if (entries.size() == MOST_ENTRIES || bytes + one.data().length > MOST_BYTES) {
        parts.add(new Part(kind, entries, List.of(), true));
        entries = new ArrayList<>();
        bytes = 0;
      }
      bytes += one.data().length;
      entries.add(one);
    }
    List<String> ids = new ArrayList<>();
    for (String id : went) {
      if (entries.size() + ids.size() == MOST_ENTRIES) {
        parts.add(new Part(kind, entries, ids, true));
        entries = new ArrayList<>();
        ids = new ArrayList<>();
      }
      ids.add(id);
    }
    parts.add(new Part(kind, entries, ids, false));
  }

  /** What an answer is made of. Those that are not taken hold what the registry has, not copies. */
  private record Part(WatchAnswer.Kind kind, List<Entry> came, List<String> went, boolean more) {
    WatchAnswer answer() {
      WatchAnswer.Builder made = WatchAnswer.newBuilder().setKind(kind).setMore(more);
      for (Entry one : came) {
        made.addCame(
            com.trunkcall.registry.v1.Entry.newBuilder()
                .setId(one.id())
                .setRecord(UnsafeByteOperations.unsafeWrap(one.data())));
      }
      return made.addAllWent(went).build();
    }
  }
}
