package web

// WithPeer is for tests that make requests up.
var WithPeer = withPeer
