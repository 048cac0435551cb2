// Package connect holds nothing: its module pins the public conformance suite of Connect,
// which conformance/public_suite.py runs.
package connect
