package io.trunkcall;

/**
 * The messages of a call that is not unary, as interceptors see them: requests and responses of
 * whatever types the method has.
 */
public interface MessageStream extends Sender<Object>, Receiver<Object> {}
