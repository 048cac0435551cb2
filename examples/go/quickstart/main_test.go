package main

func Example() {
	main()
	// Output:
	// found user-7
	// INVALID_ARGUMENT, executed: user_id 0: ids begin at 1
}
