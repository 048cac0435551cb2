"""Random sessions between two languages: their programs, the play, the laws, and mutated input."""
