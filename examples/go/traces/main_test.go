package main

func Example() {
	main()
	// Unordered output:
	// OK
	// OK
	// NOT_FOUND
	// client trunkcall.example.v1.UserService/ListUsers Error true
	// server trunkcall.example.v1.UserService/ListUsers Error true
}
