/** Publishes servers in a registry, and finds them there (spec/registry.md). */
@NullMarked
package io.trunkcall.registry;

import org.jspecify.annotations.NullMarked;
