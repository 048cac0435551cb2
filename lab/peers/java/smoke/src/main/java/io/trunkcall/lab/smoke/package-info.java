/** What the tests of all peers share. */
package io.trunkcall.lab.smoke;
