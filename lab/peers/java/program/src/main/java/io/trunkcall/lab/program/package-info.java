/** The command line that all peers share, the benchmark message, and what else they have alike. */
package io.trunkcall.lab.program;
