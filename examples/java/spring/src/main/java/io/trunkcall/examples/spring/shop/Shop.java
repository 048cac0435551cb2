package io.trunkcall.examples.spring.shop;

import com.trunkcall.example.v1.UserServiceGrpc;
import com.trunkcall.example.v1.UserServiceGrpc.UserServiceBlockingStub;
import io.trunkcall.grpc.GrpcChannel;
import io.trunkcall.spring.EnableRemoteClients;
import io.trunkcall.spring.TrunkcallClients;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** Calls the server: {@link InventoryClient} is injected, and so is a stub of grpc-java. */
@SpringBootApplication
@EnableRemoteClients
public class Shop {
  @Bean
  UserServiceBlockingStub users(TrunkcallClients clients) {
    return UserServiceGrpc.newBlockingStub(GrpcChannel.of(clients.client("users")));
  }

  public static ConfigurableApplicationContext run(String... args) {
    return new SpringApplicationBuilder(Shop.class).properties("spring.config.name=shop").run(args);
  }

  public static void main(String[] args) {
    try (ConfigurableApplicationContext context = run(args)) {
      System.out.println(context.getBean(Orders.class).order(7, "hammer"));
    }
  }
}
