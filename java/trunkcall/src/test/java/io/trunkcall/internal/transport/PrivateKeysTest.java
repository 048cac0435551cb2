package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PrivateKeysTest {
  private static final int BEFORE_PKCS1 = 26; // bytes of PKCS #8 around a key of 2,048 bits

  // Made for this test by openssl ecparam -name prime256v1 -genkey.
  private static final String SEC1 =
      """
      -----BEGIN EC PRIVATE KEY-----
      MHcCAQEEIL3GEPqQaBdYfr5BI4AsjJb2NyAQfu6SXQtp9e+bMxPAoAoGCCqGSM49
      AwEHoUQDQgAErsHdyQfrXKcz+1Mb5zuwbfYroNuWUx61zswff4U0b7DCjI3Y40h5
      C8HILKrX5eUWZhhl9icmlkqsgbvgAcHAHw==
      -----END EC PRIVATE KEY-----
      """;

  @TempDir Path folder;

  @Test
  void aKeyOfTheOlderFormOfEllipticCurvesIsRead() throws Exception {
    byte[] found = read(SEC1);
    ECPrivateKey key =
        (ECPrivateKey) KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(found));
    assertEquals(256, key.getParams().getOrder().bitLength());
  }

  @Test
  void aKeyOfTheOlderFormOfRsaIsRead() throws Exception {
    KeyPairGenerator maker = KeyPairGenerator.getInstance("RSA");
    maker.initialize(2048);
    byte[] whole = maker.generateKeyPair().getPrivate().getEncoded();
    byte[] older = Arrays.copyOfRange(whole, BEFORE_PKCS1, whole.length);
    assertArrayEquals(whole, read(pem("RSA PRIVATE KEY", older)));
  }

  @Test
  void aKeyOfTheNewerFormStaysAsItIs() throws Exception {
    byte[] any = {1, 2, 3};
    assertArrayEquals(any, read(pem("PRIVATE KEY", any)));
  }

  @Test
  void aKeyWithoutTheNameOfItsCurveIsMalformed() {
    assertThrows(IOException.class, () -> read(pem("EC PRIVATE KEY", new byte[] {0x30, 1, 2})));
  }

  private byte[] read(String text) throws IOException {
    Path file = Files.writeString(folder.resolve("key.pem"), text);
    try (InputStream in = PrivateKeys.read(file)) {
      String found = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
      return Base64.getMimeDecoder().decode(found.replaceAll("-----[^-]*-----", ""));
    }
  }

  private static String pem(String name, byte[] content) {
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
        .formatted(name, Base64.getMimeEncoder().encodeToString(content), name);
  }
}
