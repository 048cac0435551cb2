package trunkcall

// WaitingCalls is the number of a client's calls that wait for a slot.
func WaitingCalls(c *Client) int { return int(c.waiting.Load()) }

// PollAlways has every connection left to the pollers that large numbers share.
func PollAlways() { pollFrom = -1 }
