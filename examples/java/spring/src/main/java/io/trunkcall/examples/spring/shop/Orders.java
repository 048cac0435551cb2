package io.trunkcall.examples.spring.shop;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.UserServiceGrpc.UserServiceBlockingStub;
import org.springframework.stereotype.Service;

/** What customers order. */
@Service
public class Orders {
  private final InventoryClient inventory;
  private final UserServiceBlockingStub users;

  public Orders(InventoryClient inventory, UserServiceBlockingStub users) {
    this.inventory = inventory;
    this.users = users;
  }

  public String order(long userId, String article) {
    int count = inventory.count(article);
    if (count == 0) {
      return "no " + article + " at the moment";
    }
    String name = users.getUser(GetUserRequest.newBuilder().setUserId(userId).build()).getName();
    return name + " may have one of " + count + " " + article + "s";
  }
}
