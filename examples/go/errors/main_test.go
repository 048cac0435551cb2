package main

func Example() {
	main()
	// Output:
	// INVALID_ARGUMENT, executed: ids begin at 1
	// user_id must be at least 1
	// UNAVAILABLE: it did not run; repeat it if you like
}
