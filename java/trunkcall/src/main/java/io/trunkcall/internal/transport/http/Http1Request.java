package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One request over HTTP/1.1, and its answer. On the loop. */
final class Http1Request implements HttpStream {
  private static final int NO_CONTENT = 204;

  final Request request;
  private final Http1Line line;
  private final boolean old; // HTTP/1.0
  private final boolean bodiless; // HEAD
  private List<Field> extra = List.of();
  private boolean expects; // a go-ahead
  @Nullable Receiver receiver;
  boolean begun;
  boolean answered;
  boolean requestEnded;
  boolean running; // a handler has not returned
  long pending; // bytes of the body that were not consumed
  long dropped; // bytes behind the answer

  Http1Request(Http1Line line, Request request, boolean old) {
    this.line = line;
    this.request = request;
    this.old = old;
    this.bodiless = request.method().equals("HEAD");
    this.expects = request.first("expect").equalsIgnoreCase("100-continue");
  }

  @Override
  public HttpLine line() {
    return line;
  }

  @Override
  public boolean multiplexed() {
    return false;
  }

  @Override
  public void add(Field field) {
    if (extra.isEmpty()) {
      extra = new ArrayList<>(2);
    }
    extra.add(field);
  }

  @Override
  public void head(int status, List<Field> fields, boolean end) {
    if (begun || line.lost()) {
      return;
    }
    begun = true;
    expects = false;
    HttpResponse answer =
        new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status));
    HttpHeaders headers = answer.headers();
    fields.forEach(field -> headers.add(field.name(), field.value()));
    extra.forEach(field -> headers.add(field.name(), field.value()));
    boolean sized = headers.contains(HttpHeaderNames.CONTENT_LENGTH);
    if (end && !sized && status != NO_CONTENT) {
      headers.set(HttpHeaderNames.CONTENT_LENGTH, 0);
    } else if (!end && !sized) {
      if (old) {
        line.closeSoon(); // which is how it ends
      } else {
        headers.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
      }
    }
    if (line.says(this)) {
      headers.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
    line.output().write(answer);
    if (end) {
      end(null);
    }
  }

  @Override
  public boolean write(ByteBuf piece) {
    if (answered || bodiless || line.lost()) {
      piece.release();
      return true;
    }
    return line.output().body(piece);
  }

  @Override
  public void end(@Nullable List<Field> trailers) {
    if (!answered) {
      answered = true;
      if (!line.lost()) {
        line.output().write(LastHttpContent.EMPTY_LAST_CONTENT);
        line.answered(this);
      }
    }
  }

  @Override
  public void breakOff() {
    line.abort("an answer was broken off");
  }

  @Override
  public long mostTrailers() {
    return Long.MAX_VALUE;
  }

  @Override
  public void held(long more) {}

  @Override
  public void expect(long length) {}

  @Override
  public void consumed(int credit) {
    pending -= credit;
    line.readOn();
  }

  @Override
  public void proceed() {
    if (expects && !requestEnded && !begun && !line.lost()) {
      line.output()
          .write(
              new DefaultFullHttpResponse(
                  HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
    }
    expects = false;
  }

  @Override
  public void handlerBegan() {
    running = true;
    line.running(1);
  }

  @Override
  public void handlerReturned() {
    running = false;
    line.running(-1);
  }

  @Override
  public void abandoned() {
    line.stopped();
  }
}
