// Package rawframe is a test kit: a peer that sends any bytes, legal or not,
// and reads frames back with a deadline. It knows the format and no rules.
//
//	peer := rawframe.Dial(t, addr)                  // or New, around any net.Conn
//	peer.Greet()                                    // both prefaces
//	peer.Send(rawframe.Define(1, "/a.B/C"), rawframe.Call(1, 1, 1, payload))
//	result := peer.Await(wire.Result)
//
//	listener := rawframe.Listen(t)                  // a server that obeys the test
//	peer := listener.Next()
//
// Everything that opens something closes it at the end of the test.
package rawframe
