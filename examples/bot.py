"""A program that plays Tiến lên without any dependency.

It speaks the protocol of agents/tienlen_agents/external/PROTOCOL.md.

It plays its lowest legal card and keeps 2s and bombs for when nothing else will do. Try it:

    tienlen protocol check "python examples/bot.py"
    tienlen compare "process:python examples/bot.py" random greedy_long --deals 100
    tienlen play --seats human "process:python examples/bot.py" greedy greedy

Standard output carries answers alone; write notes to standard error (`print(..., file=sys.stderr)`).
"""

import json
import sys

RANKS = "3456789TJQKA2"
SUITS = "scdh"


def strength(card):
    """3s is 0, 2h is 51."""
    return 4 * RANKS.index(card[0]) + SUITS.index(card[1])


def price(play):
    """What a play costs: the pass most, then 2s and four of a kind, then high cards, then many cards."""
    if play in ("", "declare"):  # the pass; the declaration of an instant win, which is the only legal play
        return (2,)
    cards = play.split()
    ranks = [card[0] for card in cards]
    dear = "2" in ranks or (len(cards) == 4 and len(set(ranks)) == 1)
    return (1 if dear else 0, max(map(strength, cards)), len(cards))


def choose(position):
    """Choose one of the legal plays. Each is a text like "3s 3h", or a word; "" is the pass.

    A position also has your `seat` and `hand`, the `table` and its `owner`, the seats that have `passed`, and
    by seat the `counts` of cards left, the cards `played`, the `places` taken and the `scores`.
    """
    return min(position["legal"], key=price)


def main():
    """Answer every question; ignore every message of a type unknown here; end with the input."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            answer = {"type": "ready", "version": 1}
        elif message["type"] == "play":
            answer = {"id": message["id"], "cards": choose(message)}
        else:
            continue
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
