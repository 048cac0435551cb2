package main

func Example() {
	main()
	// Output: user-7 <nil> at attempt 3
}
