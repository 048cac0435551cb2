/** What tests of services need: a server and a client in one, and checks of how calls fail. */
@NullMarked
package io.trunkcall.test;

import org.jspecify.annotations.NullMarked;
