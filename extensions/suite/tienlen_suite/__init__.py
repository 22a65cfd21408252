"""A benchmark that others can enter: fixed tracks, packets that anyone can check, a leaderboard.

    tienlen suite list
    tienlen suite run AGENT --track A --out packet/
    tienlen suite check packet/

docs/leaderboard.md says how to enter. A match is a pure function of its agents and its seed, so a packet is
checked by computing it again (`check`), and an agent's own moves by playing a sample again (`replay`).
"""

from tienlen_suite.checking import SUITES, Checked, check
from tienlen_suite.packet import Declaration, Packet, PacketError, read_packet
from tienlen_suite.running import Entry, replay, run
from tienlen_suite.table import PanelMember, Suite, SuiteTable, Track

__all__ = [
    "SUITES",
    "Checked",
    "Declaration",
    "Entry",
    "Packet",
    "PacketError",
    "PanelMember",
    "Suite",
    "SuiteTable",
    "Track",
    "check",
    "read_packet",
    "replay",
    "run",
]
