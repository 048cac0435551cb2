package io.trunkcall.internal.transport;

import io.netty.handler.codec.DecoderException;
import java.io.FileNotFoundException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import javax.net.ssl.SSLException;

/** What went wrong with a transport, in words for people. */
public final class Faults {
  private static final String NOT_OFFERED =
      "TLS: the server does not offer the protocol trunk: it is none of Trunkcall, or there is a"
          + " proxy before it; through one that passes on WebSockets, dial wss://HOST:PORT/PATH";
  private static final String UNTRUSTED =
      "its certificate is of an authority that is not trusted here: give it among the authorities";
  private static final String NOT_TLS = "the server does not speak TLS on this port";
  private static final String CLOSED_IN_TLS =
      "closed during the TLS handshake: it may not speak TLS, or asks for a client's certificate";
  private static final String[] OF_THE_SYSTEM = {
    "Connection refused",
    "Connection reset",
    "Broken pipe",
    "No such file or directory",
    "Permission denied",
    "No route to host",
    "Network is unreachable",
    "Connection timed out",
    "Too many open files",
    "Address already in use",
  };

  private Faults() {}

  /** A fault of a transport. */
  public static String text(Throwable fault) {
    if (fault instanceof DecoderException && fault.getCause() != null) {
      return text(fault.getCause());
    }
    if (fault instanceof ClosedChannelException) {
      return "closed";
    }
    if (fault instanceof FileNotFoundException) {
      return "No such file or directory";
    }
    String text = fault.getMessage();
    if (text == null || text.isBlank()) {
      return fault.getClass().getSimpleName();
    }
    if (fault instanceof UnknownHostException) {
      return "the name is not known: " + text;
    }
    // Netty names the system's function before, and the address behind.
    for (String known : OF_THE_SYSTEM) {
      if (!(fault instanceof SSLException) && text.contains(known)) {
        return known;
      }
    }
    return text;
  }

  /** Whether a socket could not be written, not read. Netty names the system's function. */
  public static boolean isOfWriting(Throwable fault) {
    String text = String.valueOf(fault.getMessage());
    return text.contains("Broken pipe") || text.startsWith("write") || text.startsWith("send");
  }

  /** The same, of an attempt to connect. */
  static String ofDialling(Throwable fault, boolean secure) {
    if (fault instanceof DecoderException && fault.getCause() != null) {
      return ofDialling(fault.getCause(), secure);
    }
    if (!secure) {
      return text(fault);
    }
    if (fault instanceof ClosedChannelException || isReset(fault)) {
      return CLOSED_IN_TLS;
    }
    if (fault instanceof SSLException || fault instanceof CertificateException) {
      String text = text(fault);
      if (text.contains("no_application_protocol")) {
        return NOT_OFFERED;
      }
      if (text.contains("not an SSL/TLS record")) {
        return NOT_TLS;
      }
      for (Throwable at = fault; at != null; at = at.getCause()) {
        if (at instanceof CertPathBuilderException) {
          return UNTRUSTED + " (" + text + ")";
        }
      }
      return text;
    }
    return text(fault);
  }

  /** Whether a server that is being restarted fails so. */
  static boolean ofRestart(Throwable fault) {
    if (fault instanceof TurnedAwayException
        || fault instanceof FileNotFoundException
        || isReset(fault)) {
      return true;
    }
    String text = String.valueOf(fault.getMessage());
    return text.contains("Connection refused")
        || text.contains("No such file")
        || (fault instanceof ConnectException && text.contains("refused"));
  }

  private static boolean isReset(Throwable fault) {
    return String.valueOf(fault.getMessage()).contains("reset");
  }
}
