package main

func Example() {
	main()
	// Unordered output:
	// hello! 2 2 0.5 <nil>
	// 3 1 <nil>
	// INVALID_ARGUMENT: division by zero
	// hello again! 1 <nil>
	// hello again! 2 <nil>
	// hello again! 3 <nil>
	// timed out: true
}
