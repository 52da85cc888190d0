"""What a call costs (P4), in cents."""

DUES = 4_150
HIRE = 9_600
HIRE_UNIT = 360
MOVE, MOVE_ABOVE, MOVES_FULL = 1_820, 1_460, 300
FREE_WAIT = 240
WAIT_BACK = 1_200


def dues(tonnage):
    """P4.1."""
    return -(-tonnage // 1_000) * DUES


def hire(minutes):
    """P4.2."""
    return (minutes // HIRE_UNIT + 1) * HIRE


def handling(moves):
    """P4.3."""
    return min(moves, MOVES_FULL) * MOVE + max(0, moves - MOVES_FULL) * MOVE_ABOVE


def waiting(minutes, hire_paid):
    """What is paid back for waiting, as a positive amount (P4.4)."""
    hours = max(0, minutes - FREE_WAIT) // 60
    return hours * WAIT_BACK


def dangerous(moves_price):
    """P4.5."""
    return round(moves_price * 6 / 100)
