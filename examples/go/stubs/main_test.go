package main

func Example() {
	main()
	// Output:
	// found user-7 served by [stubs]
	// listed user-1
	// listed user-2
	// listed user-3
	// failed with InvalidArgument
}
