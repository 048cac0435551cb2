package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.WatchResponse;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of what speaks as etcd does and says something else (registry.md 10.2). */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SpoiltEtcdTest {
  private static final String FORM = "etcd has answered in another form than it should";
  private static final ResponseHeader HEADER =
      ResponseHeader.newBuilder().setClusterId(5).setRevision(3).build();

  private PlayedEtcd etcd;
  private Source source;

  static Stream<Long> seeds() {
    return Spoilt.seeds();
  }

  @BeforeEach
  void begin() throws IOException {
    etcd = new PlayedEtcd();
    source = Registry.open("etcd:127.0.0.1:" + etcd.port());
  }

  @AfterEach
  void end() throws InterruptedException {
    etcd.close();
  }

  private static KeyValue pair(byte[]... key) {
    ByteString prefix = ByteString.copyFromUtf8("/trunkcall/v1/s/");
    return KeyValue.newBuilder()
        .setKey(prefix.concat(ByteString.copyFrom(Spoilt.joined(key))))
        .setValue(ByteString.copyFromUtf8("{}"))
        .setModRevision(3)
        .build();
  }

  private static KeyValue pair(String id) {
    return pair(id.getBytes(StandardCharsets.UTF_8)).toBuilder()
        .setValue(ByteString.copyFrom(Spoilt.record(id)))
        .build();
  }

  private static RangeResponse range(KeyValue... pairs) {
    return RangeResponse.newBuilder().setHeader(HEADER).addAllKvs(List.of(pairs)).build();
  }

  private static RangeResponse good() {
    return range(Spoilt.IDS.stream().map(SpoiltEtcdTest::pair).toArray(KeyValue[]::new));
  }

  private static WatchResponse telling(Event... events) {
    return WatchResponse.newBuilder()
        .setHeader(HEADER.toBuilder().setRevision(4))
        .addAllEvents(List.of(events))
        .build();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void areReadOrRefused(long seed) throws Exception {
    Random random = new Random(seed);
    byte[] range = good().toByteArray();
    Event put = Event.newBuilder().setKv(pair("a")).build();
    Event gone = Event.newBuilder().setType(Event.EventType.DELETE).setKv(pair("b")).build();
    byte[] told = telling(put, gone).toByteArray();
    Spoilt.watch(
        source,
        good -> {
          boolean ranged = random.nextBoolean();
          etcd.range = good || !ranged ? range : Spoilt.spoilt(random, range);
          etcd.told = good ? new byte[0] : ranged ? told : Spoilt.spoilt(random, told);
        },
        40,
        "seed " + seed);
    int watched = etcd.watched();
    assertTrue(watched > 10 && watched < 42, "seed " + seed + ": " + watched + " of 42 watched");
  }

  private String failure() throws InterruptedException {
    return Spoilt.failure(source);
  }

  @Test
  void keysAscendAsBytes() throws Exception {
    byte[] half = {(byte) 0x80}; // which is no text, and stands behind é if it is read as one
    byte[] letter = "é".getBytes(StandardCharsets.UTF_8);
    byte[] z = {'z'}; // which is less than both, unless bytes have signs
    etcd.range = range(pair(z), pair(half), pair(letter)).toByteArray();
    assertEquals("etcd: " + PlayedEtcd.OVER, lastWords(failure()));
    List<KeyValue[]> others = new ArrayList<>();
    others.add(new KeyValue[] {pair(half), pair(z)});
    others.add(new KeyValue[] {pair(letter), pair(half)});
    others.add(new KeyValue[] {pair("a"), pair("a")});
    for (KeyValue[] pairs : others) {
      etcd.range = range(pairs).toByteArray();
      assertEquals("etcd answered with keys that do not ascend", failure());
    }
  }

  /** What jetcd makes of why etcd has ended a watch. */
  private static String lastWords(String said) {
    return said.contains(PlayedEtcd.OVER) ? "etcd: " + PlayedEtcd.OVER : said;
  }

  @Test
  void anAnswerWithoutAHeaderIsNone() throws Exception {
    etcd.range = good().toBuilder().clearHeader().build().toByteArray();
    assertEquals(FORM, failure());
  }

  @Test
  void anEventWithoutAKeyIsNone() throws Exception {
    etcd.range = good().toByteArray();
    etcd.ends = false;
    etcd.told = telling(Event.newBuilder().build()).toByteArray();
    assertEquals(FORM, failure());
    etcd.told = telling(Event.newBuilder().setTypeValue(7).setKv(pair("a")).build()).toByteArray();
    assertEquals(FORM, failure());
  }
}
