import unittest

from harbor.port import Port


def run(days=3, seed=4, breakdowns=True):
    lines = []
    port = Port(days, seed, lines.append, breakdowns).run()
    return port, lines


class PortTests(unittest.TestCase):
    def test_same_seed_same_log(self):
        self.assertEqual(run()[1], run()[1])

    def test_nothing_that_must_not_be(self):
        for seed in range(1, 9):
            with self.subTest(seed=seed):
                self.assertEqual([line for line in run(4, seed)[1] if " ERROR " in line], [])

    def test_every_call_is_unloaded_in_full(self):
        for seed in range(1, 9):
            port, _ = run(4, seed)
            made = sum(crane.moves for crane in port.cranes.all)
            moved = sum(call.moved for call in port.gone + port.lying)
            with self.subTest(seed=seed):
                self.assertEqual(made, moved)

    def test_small_ships_pass_one_that_fits_nowhere(self):
        for seed in range(1, 9):
            port, _ = run(2, seed)
            free = port.quay.free()
            for call in port.waiting:
                with self.subTest(seed=seed, call=call.id):
                    fits = [b for b in free if port.quay.fits(b, call, port.now - 10, port.planned(call) - 10)]
                    self.assertEqual(fits, [])
