import signal
import unittest

from lab.runner import interrupts


class Signals(unittest.TestCase):
    def setUp(self):
        for signum in interrupts.SIGNALS:
            self.addCleanup(signal.signal, signum, signal.getsignal(signum))
        interrupts.install()

    def test_a_signal_is_an_exception_and_a_second_does_not_disturb_the_clearing_up(self):
        with self.assertRaises(interrupts.Interrupted) as caught:
            signal.raise_signal(signal.SIGTERM)
        self.assertEqual((caught.exception.signum, str(caught.exception)), (signal.SIGTERM, "SIGTERM"))
        signal.raise_signal(signal.SIGINT)

    def test_while_held_it_waits(self):
        done = []
        with self.assertRaises(interrupts.Interrupted):
            with interrupts.held():
                with interrupts.held():
                    signal.raise_signal(signal.SIGINT)
                done.append("all of it")
        self.assertEqual(done, ["all of it"])

    def test_an_exception_from_inside_comes_before_the_signal(self):
        # Otherwise a start that failed would be lost; the signal is raised at the next held block at the latest.
        with self.assertRaises(KeyError):
            with interrupts.held():
                signal.raise_signal(signal.SIGINT)
                raise KeyError
        with self.assertRaises(interrupts.Interrupted), interrupts.held():
            pass


if __name__ == "__main__":
    unittest.main()
