package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The place of one request on its connection, where its answer goes. On the loop. */
interface HttpStream {
  /** What comes of the request. */
  interface Receiver {
    /** Bytes of the body, to be released; {@code credit} is what they cost. */
    void data(ByteBuf bytes, int credit);

    /** The request is whole. */
    void ended();

    /** The caller is gone: nothing can be answered any more. */
    void lost(String why);

    /** More of the answer is taken. */
    void writable();

    /** Time has passed. */
    void tick(long now);

    /** The end of the grace has come. */
    void cutOff(String why);
  }

  HttpLine line();

  /** Whether it is HTTP/2. */
  boolean multiplexed();

  /** Adds a field to whatever head the answer gets. */
  void add(Field field);

  /** Begins the answer, or with {@code end} gives all of it. */
  void head(int status, List<Field> fields, boolean end);

  /** Writes a piece of the body, which is released. False: wait until more is taken. */
  boolean write(ByteBuf piece);

  /** Ends the answer, with trailers where there are some. */
  void end(@Nullable List<Field> trailers);

  /** Ends the answer so that nobody takes it for whole. */
  void breakOff();

  /** What the peer takes of trailers, in bytes. */
  long mostTrailers();

  /** So many bytes more, or fewer, are held for its call, beside output. */
  void held(long more);

  /** A message of the request begins that has so many bytes. */
  void expect(long length);

  /** Bytes of the request were consumed. */
  void consumed(int credit);

  /** The body begins to be read: who waits for that is told to send it. */
  void proceed();

  /** A handler begins to run. */
  void handlerBegan();

  /** It has returned, perhaps behind an answer that it did not give. */
  void handlerReturned();

  /** The answer was given without the handler, which runs on. */
  void abandoned();
}
