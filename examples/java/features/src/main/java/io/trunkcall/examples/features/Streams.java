package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientStream;
import io.trunkcall.Handler;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** The three kinds of streams, at both ends. */
public final class Streams {
  private Streams() {}

  static void list(ListUsersRequest request, Sender<GetUserResponse> users, ServerCall call) {
    for (int id = 1; id <= request.getCount(); id++) {
      if (!users.send(Users.user("user-" + id))) {
        return; // the caller is gone
      }
    }
  }

  static ImportUsersResponse take(Receiver<GetUserResponse> users, ServerCall call) {
    long count = 0;
    for (GetUserResponse user : users) {
      count++;
    }
    return ImportUsersResponse.newBuilder().setCount(count).build();
  }

  static void watch(
      Receiver<GetUserRequest> requests, Sender<GetUserResponse> users, ServerCall call) {
    for (GetUserRequest request : requests) {
      users.send(Users.user("user-" + request.getUserId()));
    }
  }

  public static void main(String[] args) throws IOException {
    Server server =
        Server.builder()
            .serve(Handler.serverStream(Users.LIST, Streams::list))
            .serve(Handler.clientStream(Users.IMPORT, Streams::take))
            .serve(Handler.bidiStream(Users.WATCH, Streams::watch))
            .build();
    try (server;
        Client client = Client.of(server.listen("127.0.0.1:0"))) {
      listAll(client);
      importSome(client);
      converse(client);
    }
  }

  private static void listAll(Client client) {
    ListUsersRequest many = ListUsersRequest.newBuilder().setCount(1_000_000).build();
    CallOptions limited = CallOptions.NONE.withTimeout(Duration.ofSeconds(30));
    try (ClientStream<ListUsersRequest, GetUserResponse> users =
        client.stream(Users.LIST, many, limited)) {
      for (GetUserResponse user : users) {
        if (user.getName().equals("user-3")) {
          System.out.println("found " + user.getName());
          break; // closing the stream ends the call at the server, too
        }
      }
    }
  }

  private static void importSome(Client client) {
    try (ClientStream<GetUserResponse, ImportUsersResponse> users = client.open(Users.IMPORT)) {
      for (String name : List.of("Ada", "Grace")) {
        if (!users.send(Users.user(name))) {
          break; // the call is over already: response() says how
        }
      }
      System.out.println("imported " + users.response().getCount());
    }
  }

  private static void converse(Client client) {
    try (ClientStream<GetUserRequest, GetUserResponse> watched = client.open(Users.WATCH)) {
      for (long id = 7; id < 9; id++) {
        watched.send(Users.request(id));
        GetUserResponse user = watched.receive();
        System.out.println("watched " + (user == null ? "nothing" : user.getName()));
      }
      watched.halfClose();
    }
  }
}
