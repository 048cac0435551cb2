package io.trunkcall;

import org.jspecify.annotations.Nullable;

/**
 * What a picker knows of the call that it chooses for.
 *
 * @param avoid the endpoint of the attempt before, null for the first attempt
 */
public record Pick(Method<?, ?> method, Metadata metadata, @Nullable EndpointState avoid) {}
