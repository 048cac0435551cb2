package io.trunkcall;

/**
 * Says who may call at all. It is asked before anything of the request is decompressed or decoded
 * and before a one-way call is accepted, on the thread that the handler will run on, and counts
 * among the running handlers meanwhile.
 */
@FunctionalInterface
public interface Admission {
  /**
   * Lets a call in, or rejects it by throwing {@link StatusException}: it is then refused, so that
   * its caller knows that no handler ran, and may come back after the status' retry-after.
   */
  Admitted admit(Arrival arrival) throws Exception;
}
