/**
 * Spring Boot: beans with {@link io.trunkcall.codefirst.RemoteService} are served, and interfaces
 * with {@link io.trunkcall.codefirst.RemoteClient} are injected.
 */
@NullMarked
package io.trunkcall.spring;

import org.jspecify.annotations.NullMarked;
