/** Services made of annotated classes, and clients of annotated interfaces. */
@NullMarked
package io.trunkcall.codefirst;

import org.jspecify.annotations.NullMarked;
