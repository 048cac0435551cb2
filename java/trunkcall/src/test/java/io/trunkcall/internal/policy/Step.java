package io.trunkcall.internal.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Priority;
import java.util.Locale;

/** An event of a core, as cases have it. Which fields count depends on the core and the event. */
final class Step {
  final int number;
  private final JsonNode given;
  private int drawn;

  Step(JsonNode given, int number) {
    this.given = given;
    this.number = number;
  }

  String event() {
    return text("event");
  }

  long at() {
    return number("at");
  }

  String text(String field) {
    return given.path(field).asText("");
  }

  long number(String field) {
    return given.path(field).asLong(0);
  }

  JsonNode list(String field) {
    return given.path(field);
  }

  int call() {
    return (int) number("call");
  }

  /** Below 0 if there is none. */
  long deadline() {
    return given.path("deadline").asLong(-1);
  }

  Priority priority() {
    return Priority.of(text("priority"));
  }

  Ended ended() {
    return new Ended(
        given.has("code") ? Code.valueOf(text("code")) : Code.OK,
        given.has("delivery")
            ? Delivery.valueOf(text("delivery").toUpperCase(Locale.ROOT))
            : Delivery.UNKNOWN,
        number("retry_after"),
        given.path("lost").asBoolean(),
        given.path("elsewhere").asBoolean(),
        number("time"),
        number("left"));
  }

  /** Draws the next of its numbers; more than there are is a fault. */
  int random() {
    return (int) given.path("random").required(drawn++).asLong();
  }

  int drawn() {
    return drawn;
  }
}
