package io.trunkcall.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.BindableService;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.trunkcall.grpc.GrpcChannel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.FilteredClassLoader;

/** Services of grpc-java among the beans. */
@Timeout(90)
class GrpcBeansTest {
  /** Texts as messages. */
  private static final class Texts implements MethodDescriptor.Marshaller<String> {
    @Override
    public InputStream stream(String text) {
      return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String parse(InputStream stream) {
      try {
        return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final MethodDescriptor<String, String> SHOUT =
      MethodDescriptor.<String, String>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("test.Shouting/Shout")
          .setRequestMarshaller(new Texts())
          .setResponseMarshaller(new Texts())
          .build();

  /** As a generated base binds itself. */
  static class Shouting implements BindableService {
    @Override
    public ServerServiceDefinition bindService() {
      return ServerServiceDefinition.builder("test.Shouting")
          .addMethod(
              SHOUT,
              ServerCalls.asyncUnaryCall(
                  (text, answer) -> {
                    answer.onNext(text + "!");
                    answer.onCompleted();
                  }))
          .build();
    }
  }

  @Test
  void aServiceOfGrpcIsServedAndCalledByAStub() {
    Contexts.inMemory()
        .withBean(Shouting.class)
        .withPropertyValues("trunkcall.clients.shouting.target=${calc.target}")
        .run(
            context -> {
              TrunkcallClients clients = context.getBean(TrunkcallClients.class);
              GrpcChannel channel = GrpcChannel.of(clients.client("shouting"));
              assertThat(ClientCalls.blockingUnaryCall(channel, SHOUT, CallOptions.DEFAULT, "hey"))
                  .isEqualTo("hey!");
            });
  }

  @Test
  void withoutTrunkcallGrpcTheRestIsThere() {
    Contexts.inMemory()
        .withClassLoader(new FilteredClassLoader("io.trunkcall.grpc", "io.grpc"))
        .run(context -> assertThat(context).hasNotFailed());
  }
}
