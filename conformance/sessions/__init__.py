"""Random sessions between two languages: both ends, the play, the laws, and mutated input."""
