import os
import time
import unittest

from lab.runner import sampling
from lab.runner.conversation import Conversation


def trace(*samples):
    made = sampling.Trace(0)
    made.at, made.cpu = [t for t, _ in samples], [c for _, c in samples]
    return made


class CpuTime(unittest.TestCase):
    def test_another_process_clock_is_the_one_it_sees_itself(self):
        before = time.process_time()
        seen = sampling.cpu_seconds(os.getpid())
        self.assertTrue(before <= seen <= time.process_time())

    def test_load_is_interpolated_between_samples(self):
        self.assertAlmostEqual(trace((0, 0), (1, 0.5), (2, 0.5)).load(0.5, 1.5), 0.25)

    def test_moments_outside_the_samples_take_the_nearest(self):
        made = trace((1, 2.0), (2, 3.0))
        self.assertEqual((made.cpu_at(0), made.cpu_at(9)), (2.0, 3.0))

    def test_warm_up_and_closing_do_not_count(self):
        # Busy at 2.0 while warming up (0-1) and sorting (3-3.1), at 0.5 over the two measured seconds.
        made = trace((0, 0.0), (1, 2.0), (3, 3.0), (3.1, 3.2))
        self.assertAlmostEqual(made.load(*sampling.measured_window(arrived=3.1, seconds=2.0)), 0.5)

    def test_a_process_that_is_gone_is_no_failure(self):
        gone = sampling.Trace(2**22 - 1)
        gone.sample()
        self.assertEqual(gone.at, [])


class Turns(unittest.TestCase):
    def test_pieces_of_one_turn_add_up_and_a_rare_ping_does_not_show_in_the_median(self):
        talk = Conversation()
        for number in range(100):
            for direction, size in (("up", 10), ("up", 20), ("down", 25)):
                talk.passed(direction, size)
            if number % 20 == 0:
                talk.passed("up", 8)
        median, mean = talk.bytes_per_call()
        self.assertEqual(median, 55)
        self.assertTrue(55 < mean < 56)

    def test_silence_is_nothing(self):
        self.assertEqual(Conversation().bytes_per_call(), (0.0, 0.0))


if __name__ == "__main__":
    unittest.main()
