/** The rules of the chosen variant, short and with pictures: a sentence for each field of Python's `Rules`. */
import { useEffect, useState } from "preact/hooks";
import { CardRow } from "./cards.tsx";
import { openLibrary } from "./engine.ts";
import { decimal, rulesWords, say, t, words, type Words } from "./i18n.ts";
import { Dialog } from "./parts.tsx";

const RANKS = "3456789TJQKA2";
interface Line {
  text: Words;
  cards?: string[][];
}
type About = Record<string, unknown>;

/** Cards of a shape such as "2x3", from a rank on. */
function picture(shape: string, from = 2, suits = "scdh"): string[] {
  const [width, length] = shape.split("x").map(Number) as [number, number];
  return Array.from({ length }, (_, i) =>
    Array.from(suits.slice(0, width)).map((suit) => RANKS[from + i]! + suit),
  ).flat();
}
const TWOS = ["2c", "2h", "2d", "2s"];

/** One line a preset, for the first screen. */
const PRESETS: Record<string, Words> = {
  cardgames: words(
    "The game of cardgames.io: 3, 2, 1, 0 points a round, to 10 points.",
    "Luật của cardgames.io: mỗi ván 3, 2, 1, 0 điểm, đến 10 điểm.",
  ),
  mobile: words(
    "As on cardgames.io, but a bomb that is longer than needed does not chop.",
    "Như cardgames.io, nhưng hàng dài hơn mức cần thì không chặt được.",
  ),
  foicica: words(
    "Runs of two cards or more; a run in one suit binds the trick; a player whose 2 is chopped is out of the trick.",
    "Sảnh từ hai lá; sảnh đồng chất buộc cả vòng; heo bị chặt thì mất lượt trong vòng đó.",
  ),
  pagat: words(
    "As pagat.com describes it: runs may end in a 2.",
    "Theo pagat.com: sảnh được kết thúc bằng heo.",
  ),
  south: words(
    "Tiến lên miền Nam: money for places, 2s and chops; instant wins.",
    "Tiến lên miền Nam: ăn tiền theo hạng, thối heo, chặt heo; có tới trắng.",
  ),
  south_count: words(
    "South, cards counted: the round ends when one player is out, and each card left costs a unit.",
    "Miền Nam đếm lá: có người hết bài là hết ván, mỗi lá còn lại mất tiền.",
  ),
  south_winner: words(
    "South: the first player takes a fixed stake from all others.",
    "Miền Nam, nhất ăn tất: người về nhất ăn tiền bàn của mọi người.",
  ),
  north: words(
    "Tiến lên miền Bắc: suits bind, no round may end on a 2, cards are counted.",
    "Tiến lên miền Bắc: đánh theo chất, không được về bằng heo, đếm lá.",
  ),
  bga: words(
    "The game of Board Game Arena: bombs may be played after a pass.",
    "Luật của Board Game Arena: bỏ lượt rồi vẫn được chặt.",
  ),
  thirteens: words(
    "A game of tricks for two to seven: follow the suit, win cards, meld them.",
    "Trò ăn vòng cho hai đến bảy người: theo chất, ăn bài, hạ phỏm.",
  ),
};
export const presetWords = (rules: string): string => {
  const name = Object.keys(PRESETS)
    .filter((begin) => rules.startsWith(begin))
    .at(-1);
  return PRESETS[rules] ? say(PRESETS[rules]) : name ? say(PRESETS[name]!) : "";
};

const WINS: Record<string, Words> = {
  dragon: words("a run from 3 to ace", "sảnh rồng (3 đến A)"),
  four_twos: words("four 2s", "tứ quý heo"),
  six_pairs: words("six pairs", "sáu đôi"),
  five_pair_run: words("five pairs in a row", "năm đôi thông"),
  one_colour: words("all cards of one colour", "đồng màu"),
  four_threes: words("four 3s", "tứ quý ba"),
};

/** The fields of Python's `Rules`; those that are not there are off. */
class Fields {
  constructor(private readonly about: About) {}
  is(name: string, value: unknown): boolean {
    return this.about[name] === value;
  }
  amount(name: string): number {
    return Number(this.about[name]) || 0;
  }
  numbers(name: string): number[] {
    return (this.about[name] as number[] | undefined) ?? [];
  }
  shapes(name: string): string[] {
    return (this.about[name] as string[] | undefined) ?? [];
  }
  /** What chops a number of 2s. */
  get chops(): [number, string[]][] {
    return (this.about["chops"] as [number, string[]][] | undefined) ?? [];
  }
}
type Lines = (Line | false)[];

/** What is dealt, and the order of the cards. */
function cardLines(rules: Fields, players: number): Lines {
  return [
    {
      text: words(
        `${players} players, ${rules.amount("cards_each")} cards each. Get rid of all your cards first.`,
        `${players} người, mỗi người ${rules.amount("cards_each")} lá. Ai hết bài trước thì thắng.`,
      ),
    },
    {
      text: words(
        "3 is the lowest rank, 2 the highest. Of one rank: ♠ ♣ ♦ ♥.",
        "3 nhỏ nhất, 2 (heo) lớn nhất. Cùng số: ♠ ♣ ♦ ♥.",
      ),
      cards: [
        ["3s", "3c", "3d", "3h"],
        ["Ah", "2s", "2c", "2d", "2h"],
      ],
    },
  ];
}

/** Who begins. */
function openingLines(rules: Fields): Lines {
  return [
    {
      text: rules.is("opening_play", "alone")
        ? words("The first play is the 3♠ alone.", "3♠ đánh lẻ mở ván.")
        : rules.is("opening_play", "free")
          ? words(
              "The player with the 3♠ leads and may play anything.",
              "Ai có 3♠ được ra bài, đánh gì cũng được.",
            )
          : words(
              rules.is("opening", "every")
                ? "The player with the lowest card leads each round, with a play that contains it."
                : "The player with the lowest card leads the first round, with a play that contains it; later the winner leads.",
              rules.is("opening", "every")
                ? "Mỗi ván ai có lá nhỏ nhất ra bài, phải có lá đó."
                : "Ván đầu ai có lá nhỏ nhất ra bài, phải có lá đó; các ván sau người về nhất ra bài.",
            ),
      cards: [["3s"]],
    },
  ];
}

/** What can be played. */
function playLines(rules: Fields): Lines {
  const bound = rules.is("suits_bind", true);
  const sets = rules.numbers("set_run_min");
  return [
    {
      text: words(
        "You may play a single card, a pair, three or four of a kind ...",
        "Có thể đánh: lá lẻ, đôi, sám cô, tứ quý ...",
      ),
      cards: [["9d"], bound ? ["7s", "7c"] : ["7s", "7h"], ["8s", "8c", "8d"]],
    },
    rules.amount("run_min") > 0 && {
      text: words(
        `... a run of ${rules.amount("run_min")} or more cards${bound ? " of one suit" : ""} ...`,
        `... sảnh từ ${rules.amount("run_min")} lá${bound ? " cùng chất" : ""} ...`,
      ),
      cards: [bound ? ["5c", "6c", "7c"] : ["5s", "6d", "7c"].slice(0, Math.max(2, rules.amount("run_min")))],
    },
    sets[0]! > 0 && {
      text: words(`... ${sets[0]} or more pairs in a row.`, `... từ ${sets[0]} đôi thông.`),
      cards: [picture(`2x${sets[0]}`)],
    },
    {
      text: rules.is("twos_in", "none")
        ? words("No run contains a 2.", "Sảnh không có heo.")
        : words("A run may end in a 2.", "Sảnh được kết thúc bằng heo."),
    },
  ];
}

/** What follows what. */
function followLines(rules: Fields): Lines {
  const bound = rules.is("suits_bind", true);
  return [
    {
      text: bound
        ? words(
            "Follow with as many cards of the same kind, in the same suit or colour, with a higher top card; or pass. A 2 beats any suit.",
            "Đánh chặn cùng loại, cùng số lá, cùng chất hoặc cùng màu và lớn hơn. Heo chặn được mọi chất.",
          )
        : words(
            "Follow with the same kind and as many cards, and a higher top card; or pass.",
            "Đánh chặn cùng loại, cùng số lá và lá cao nhất lớn hơn; hoặc bỏ lượt.",
          ),
      cards: bound
        ? [["9c"], ["Kc"]]
        : [
            ["6s", "6d"],
            ["6c", "6h"],
          ],
    },
    rules.is("flush_lock", true) && {
      text: words(
        "On a run led in one suit only runs in one suit may follow.",
        "Ra sảnh đồng chất thì phải chặn bằng sảnh đồng chất.",
      ),
    },
  ];
}

/** What a pass means. */
function passLines(rules: Fields): Lines {
  return [
    {
      text: rules.is("pass_lock", true)
        ? words(
            "A player who passes stays out until the trick is over. When all others have passed, the last to play leads.",
            "Bỏ lượt là nghỉ đến hết vòng. Mọi người bỏ lượt thì người đánh cuối ra bài.",
          )
        : words(
            "A player who passes may play again in the same trick.",
            "Bỏ lượt rồi vẫn được đánh lại trong vòng đó.",
          ),
    },
    rules.shapes("rejoin").length > 0 && {
      text: words("After a pass these may still be played:", "Bỏ lượt rồi vẫn được chặt bằng:"),
      cards: rules.shapes("rejoin").map((shape) => picture(shape)),
    },
  ];
}

/** What bombs do, and what wins at once. */
function bombLines(rules: Fields): Lines {
  return [
    ...rules.chops.map(([n, bombs]): Line => ({
      text: words(
        n === 1 ? "Bombs that chop a 2:" : `Bombs that chop ${n} 2s:`,
        n === 1 ? "Chặt một heo:" : `Chặt ${n} heo:`,
      ),
      cards: [TWOS.slice(0, n), ...bombs.map((shape) => picture(shape))],
    })),
    rules.shapes("ladder").length > 1 && {
      text: words("In this row each bomb beats those before it:", "Hàng sau chặt hàng trước:"),
      cards: rules
        .shapes("ladder")
        .filter((shape) => shape[0] !== "1" || shape === "1x5")
        .slice(0, 4)
        .map((shape) => picture(shape)),
    },
    rules.shapes("instant_wins").length > 0 && {
      text: words(
        `These hands win at once: ${rules
          .shapes("instant_wins")
          .map((name) => WINS[name]?.en ?? name)
          .join(", ")}.`,
        `Tới trắng: ${rules
          .shapes("instant_wins")
          .map((name) => WINS[name]?.vi ?? name)
          .join(", ")}.`,
      ),
    },
  ];
}

/** How a round ends. */
function endLines(rules: Fields): Lines {
  return [
    rules.is("last_two", "ends") && {
      text: words("A player who goes out with a 2 comes last, and pays.", "Về bằng heo thì đứng bét và đền."),
    },
    rules.is("last_card_duty", "highest") && {
      text: words(
        "If the next player holds one card, a single that you play must be your highest.",
        "Người kế báo một lá: đánh lẻ thì phải đánh lá lớn nhất.",
      ),
    },
    rules.is("last_card_duty", "pays") && {
      text: words(
        "If the next player holds one card and goes out on your low single, you pay for all.",
        "Người kế báo một lá mà đánh lá nhỏ để họ về thì đền cả làng.",
      ),
    },
    {
      text: rules.is("round_end", "first")
        ? words("The round ends when the first player is out.", "Có người hết bài là hết ván.")
        : words("The others play on for the places.", "Những người còn lại đánh tiếp để tranh hạng."),
    },
    rules.amount("target") > 0 && {
      text: words(
        `Points of the places: ${rules.numbers("points").join(", ")}. A game goes to ${rules.amount("target")}.`,
        `Điểm các hạng: ${rules.numbers("points").join(", ")}. Chơi đến ${rules.amount("target")} điểm.`,
      ),
    },
  ];
}

/** What is paid. */
function moneyLines(rules: Fields): Lines {
  return [
    rules.numbers("pay_places").some(Boolean) && {
      text: words(
        `The last pays the first ${rules.numbers("pay_places")[0]} units, the third the second ${rules.numbers("pay_places")[1]}.`,
        `Bét trả nhất ${rules.numbers("pay_places")[0]}, ba trả nhì ${rules.numbers("pay_places")[1]} đơn vị.`,
      ),
    },
    rules.amount("pay_first") > 0 && {
      text: words(
        `All others pay the first ${rules.amount("pay_first")} units.`,
        `Mọi người trả người nhất ${rules.amount("pay_first")} đơn vị.`,
      ),
    },
    rules.amount("pay_card") > 0 && {
      text: words(
        `Each card left costs ${rules.amount("pay_card")}.`,
        `Mỗi lá còn lại mất ${rules.amount("pay_card")}.`,
      ),
    },
    rules.numbers("pay_chop_twos").some(Boolean) && {
      text: words(
        `A chopped black 2 costs ${rules.numbers("pay_chop_twos")[0]}, a red one ${rules.numbers("pay_chop_twos")[1]}; in hand at the end ${rules.numbers("pay_held_twos").join(" and ")}.`,
        `Heo đen bị chặt mất ${rules.numbers("pay_chop_twos")[0]}, heo đỏ ${rules.numbers("pay_chop_twos")[1]}; thối heo mất ${rules.numbers("pay_held_twos").join(" và ")}.`,
      ),
      cards: [["2s"], ["2h"]],
    },
    rules.amount("pay_cong") > 0 && {
      text: words(
        `A player who has played no card when the first goes out is cóng and pays ${decimal(rules.amount("pay_cong"), 0)}.`,
        `Chưa đánh được lá nào khi có người về nhất là cóng, mất ${decimal(rules.amount("pay_cong"), 0)}.`,
      ),
    },
  ];
}

/** The lines of the rules of Tiến lên. */
function linesOf(about: About, players: number): Line[] {
  const rules = new Fields(about);
  const parts = [openingLines, playLines, followLines, passLines, bombLines, endLines, moneyLines];
  const found = [...cardLines(rules, players), ...parts.flatMap((part) => part(rules))];
  return found.filter((line) => line !== false);
}

const THIRTEENS: Line[] = [
  {
    text: words(
      "A trick is one card of each player. Follow the suit that was led if you can.",
      "Mỗi vòng mỗi người đánh một lá. Phải theo chất nếu có.",
    ),
  },
  {
    text: words(
      "The highest card of that suit takes the trick, and its player leads next.",
      "Lá cao nhất của chất đó ăn vòng và ra bài tiếp.",
    ),
    cards: [["7c", "Kc", "9c"]],
  },
  { text: words("Melds of cards that you have taken bring points.", "Hạ phỏm từ các lá đã ăn để lấy điểm.") },
];

/** The lines of some rules, once they are loaded. */
function useLines(rules: string, players: number): Line[] {
  const [lines, setLines] = useState<Line[]>([]);
  useEffect(() => {
    void openLibrary()
      .then((library) => library.loadRules(rules))
      .then(
        (game) =>
          setLines(game.name === "tienlen" ? linesOf(game.about(rules, players), players) : THIRTEENS),
        () => {},
      );
  }, [rules, players]);
  return lines;
}

/** Links to the pages of the site, where the table is a part of one. */
function SiteLinks() {
  const docs = document.documentElement.dataset["docs"];
  if (!docs) return null;
  return (
    <p class="actions">
      <a href={`${docs}rules/index.html`} target="_blank" rel="noopener">
        {t("allRules")}
      </a>{" "}
      <a href={`${docs}table.html`} target="_blank" rel="noopener">
        {t("aboutTable")}
      </a>
    </p>
  );
}

interface Props {
  rules: string;
  players: number;
  onClose: () => void;
}

export function RulesDialog({ rules, players, onClose }: Props) {
  const lines = useLines(rules, players);
  return (
    <Dialog title={`${t("rules")}: ${rulesWords(rules)}`} onClose={onClose}>
      <p>{presetWords(rules)}</p>
      <ul class="rule-list">
        {lines.map(({ text, cards }, i) => (
          <li key={i}>
            <span>{say(text)}</span>
            {cards && (
              <span class="pictures">
                {cards.map((one) => (
                  <CardRow key={one.join()} cards={one} />
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
      <SiteLinks />
    </Dialog>
  );
}
