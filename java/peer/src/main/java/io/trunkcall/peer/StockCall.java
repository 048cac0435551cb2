package io.trunkcall.peer;

import com.google.protobuf.DynamicMessage;
import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.example.v1.UserServiceGrpc;
import com.trunkcall.fault.v1.FaultServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObservers;
import io.trunkcall.Caller;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.grpc.GrpcChannel;
import io.trunkcall.grpc.Statuses;
import io.trunkcall.load.Failed;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One call of a method as the stock plugin describes it, made as the stubs that it generates do.
 */
final class StockCall {
  private static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              UserServiceGrpc.getServiceDescriptor(),
              BenchServiceGrpc.getServiceDescriptor(),
              FaultServiceGrpc.getServiceDescriptor())
          .flatMap(service -> service.getMethods().stream())
          .collect(
              Collectors.toMap(method -> "/" + method.getFullMethodName(), Function.identity()));

  private StockCall() {}

  /**
   * Makes the call and hands each answer to {@code take}.
   *
   * @throws StatusException if it fails; what {@code take} throws ends the call
   */
  static void invoke(
      Caller caller,
      KnownMethod known,
      List<DynamicMessage> requests,
      Metadata metadata,
      @Nullable Duration timeout,
      KnownMethod.Taker take)
      throws Failed {
    MethodDescriptor<DynamicMessage, DynamicMessage> method =
        Objects.requireNonNull(METHODS.get(known.name())).toBuilder(
                ProtoUtils.marshaller(known.request()), ProtoUtils.marshaller(known.response()))
            .build();
    Channel channel =
        ClientInterceptors.intercept(
            GrpcChannel.of(caller), MetadataUtils.newAttachHeadersInterceptor(headers(metadata)));
    CallOptions options = CallOptions.DEFAULT;
    if (timeout != null) {
      options = options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }
    try {
      invoke(channel, method, options, requests, take);
    } catch (StatusRuntimeException e) {
      throw own(e);
    }
  }

  private static void invoke(
      Channel channel,
      MethodDescriptor<DynamicMessage, DynamicMessage> method,
      CallOptions options,
      List<DynamicMessage> requests,
      KnownMethod.Taker take)
      throws Failed {
    switch (method.getType()) {
      case UNARY ->
          take.accept(ClientCalls.blockingUnaryCall(channel, method, options, requests.get(0)));
      case SERVER_STREAMING -> {
        Iterator<DynamicMessage> answers =
            ClientCalls.blockingServerStreamingCall(channel, method, options, requests.get(0));
        while (answers.hasNext()) {
          take.accept(answers.next());
        }
      }
      case CLIENT_STREAMING -> {
        Answers answers = new Answers(requests, take);
        ClientCalls.asyncClientStreamingCall(channel.newCall(method, options), answers);
        answers.await();
      }
      default -> {
        Answers answers = new Answers(requests, take);
        ClientCalls.asyncBidiStreamingCall(channel.newCall(method, options), answers);
        answers.await();
      }
    }
  }

  /** Sends the requests as flow control lets it, and hands the answers on as they come. */
  private static final class Answers
      implements ClientResponseObserver<DynamicMessage, DynamicMessage> {
    private final List<DynamicMessage> requests;
    private final KnownMethod.Taker take;
    private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
    private @Nullable ClientCallStreamObserver<DynamicMessage> call;

    Answers(List<DynamicMessage> requests, KnownMethod.Taker take) {
      this.requests = requests;
      this.take = take;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<DynamicMessage> started) {
      call = started;
      StreamObservers.copyWithFlowControl(requests.iterator(), started);
    }

    @Override
    public void onNext(DynamicMessage answer) {
      try {
        take.accept(answer);
      } catch (Failed e) {
        ended.completeExceptionally(e);
        Objects.requireNonNull(call).cancel(e.getMessage(), e);
      }
    }

    @Override
    public void onError(Throwable failure) {
      ended.completeExceptionally(failure);
    }

    @Override
    public void onCompleted() {
      ended.complete(null);
    }

    void await() throws Failed {
      try {
        ended.join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof Failed failed) {
          throw failed;
        }
        if (e.getCause() instanceof StatusRuntimeException failed) {
          throw failed;
        }
        throw e;
      }
    }
  }

  private static io.grpc.Metadata headers(Metadata metadata) {
    io.grpc.Metadata headers = new io.grpc.Metadata();
    for (Metadata.Entry entry : metadata.entries()) {
      byte[] bytes = entry.bytes();
      if (bytes != null) {
        headers.put(
            io.grpc.Metadata.Key.of(entry.key(), io.grpc.Metadata.BINARY_BYTE_MARSHALLER), bytes);
      } else {
        headers.put(
            io.grpc.Metadata.Key.of(entry.key(), io.grpc.Metadata.ASCII_STRING_MARSHALLER),
            Objects.requireNonNull(entry.text()));
      }
    }
    return headers;
  }

  private static StatusException own(StatusRuntimeException failed) {
    Status status = Statuses.of(failed);
    if (status == null) { // of gRPC's own code
      io.grpc.Status told = failed.getStatus();
      String text = told.getDescription();
      status = Status.of(Code.of(told.getCode().value()), text == null ? "" : text);
    }
    return new StatusException(status);
  }
}
