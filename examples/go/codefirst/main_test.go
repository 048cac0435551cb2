package main

func Example() {
	main()
	// Unordered output:
	// server: listening
	// client: connected
	// hello! 2 2 0.5 <nil>
	// 3 1 <nil>
	// INVALID_ARGUMENT: division by zero
	// first! 2 2 0.5 <nil>
	// second! 3 2 0.5 <nil>
	// called back! 4 2 0.5 <nil>
	// timed out: true
	// client: disconnected
}
