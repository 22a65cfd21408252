/**
 * Reads records: words and columns. What they may say, the sentences about them, and all limits come from Python's
 * `Notation` (the tables of a game); the module of the game judges hands and plays.
 */

/** Text that is not a record; `column` counts from 1. `clause` of RULES.md, where a play is not legal. */
export class RecordError extends Error {
  name = "RecordError";
  constructor(message, column, clause = "") {
    super(`column ${column}: ${message}`);
    this.column = column;
    this.clause = clause;
  }
}

/** A text in quotes, as Python's `repr`. */
function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\']/g, (sign) => (sign === "\\" || sign === quote ? `\\${sign}` : sign));
  const codes = /[\u0000-\u001f\u007f-\u00a0\u00ad]/g; // eslint-disable-line no-control-regex
  return (
    quote + escaped.replace(codes, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, "0")}`) + quote
  );
}

/** A sentence with its names filled in, as Python's `str.format`: `{name}`, `{name!r}`. */
export function fill(sentence, names) {
  return sentence.replace(/\{(\w+)(!r)?\}/g, (_, name, isQuoted) =>
    isQuoted ? quoted(names[name]) : String(names[name]),
  );
}

const WORD = /[^\t\n\v\f\r\u001c-\u001f \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/** The words of a line, each with its column. */
class Line {
  constructor(text, notation) {
    this.notation = notation;
    const line = text.replace(/\n+$/, "");
    const end = /[\n\r]/.test(text.replace(/^\n+|\n+$/g, ""))
      ? /[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/.exec(text)
      : null;
    if (end) throw this.fault("lines", end.index + 1);
    this.items = [...line.matchAll(WORD)].map((found) => ({ text: found[0], column: found.index + 1 }));
    this.end = line.length + 1;
    this.length = text.trimEnd().length;
    this.at = 0;
  }

  fault(name, column, word = "", names = {}) {
    const shown = word.slice(0, this.notation.max_shown);
    return new RecordError(fill(this.notation.faults[name], { word: shown, ...names }), column);
  }

  get next() {
    return this.items[this.at]?.text ?? "";
  }

  take(what) {
    if (this.at === this.items.length) throw this.fault("end", this.end, "", { what });
    return this.items[this.at++];
  }

  /** The value of the next word, if that is `name=value`. */
  takeValue(name) {
    if (!this.next.startsWith(`${name}=`)) return null;
    const { text, column } = this.take(name);
    return { text: text.slice(name.length + 1), column: column + name.length + 1 };
  }

  number(text, column, highest, what) {
    if (!/^\d{1,10}$/.test(text) || Number(text) > highest)
      throw this.fault("number", column, text, { what, highest });
    return Number(text);
  }
}

/** The content of a line, for one game. */
export class RecordReader {
  constructor(loaded) {
    this.loaded = loaded;
    this.tables = loaded.tables;
    this.notation = loaded.words.notation;
    this.named = new Set(this.tables.variants.flatMap((variant) => Object.values(variant.named_plays)));
  }

  /** The mask of cards that begin in a column. */
  cards(line, text, column) {
    let mask = 0n;
    for (let i = 0; i < text.length;) {
      if (" ,\t".includes(text[i])) {
        i++;
        continue;
      }
      const found = text.slice(i, i + (text.startsWith("10", i) ? 3 : 2));
      const card = this.notation.spellings[found];
      if (card === undefined) throw line.fault("card", column + i, found);
      if ((mask >> BigInt(card)) & 1n)
        throw line.fault("card twice", column + i, "", { cards: this.loaded.cards[card] });
      mask |= 1n << BigInt(card);
      i += found.length;
    }
    return mask;
  }

  /** The variant that the line names. */
  variant(line) {
    const { sizes, size_errors, unknown_rules } = this.notation;
    const { text, column } = line.take("the rules");
    const size = sizes.map(([example, what, highest]) => {
      const word = line.take(`the number of ${what}`);
      if (word.text[0] !== example[0]) throw line.fault("size", word.column, word.text, { what, example });
      return example[0] + line.number(word.text.slice(1), word.column + 1, highest, `a number of ${what}`);
    });
    const found = this.tables.variants.find(
      (one) => (one.rules === text || `#${one.digest}` === text) && one.size.join() === size.join(),
    );
    if (found) return found;
    if (text.startsWith("#"))
      throw new RecordError(
        `${text}: rules of one's own: before the record the line of Python's rules_remark is needed`,
        column,
      );
    const isKnown = this.tables.variants.some((one) => one.rules === text);
    const sentence = isKnown ? size_errors[text]?.[size.join(" ")] : unknown_rules;
    const word = text.slice(0, this.notation.max_shown);
    throw new RecordError(fill(sentence ?? "{word!r}: no tables of this size here", { word }), column);
  }

  /** The key and the round of a deal, or its hands and the cards beside them. */
  deal(line, variant) {
    const key = line.takeValue("key");
    if (!key) return { key: "", round: 0, ...this.hands(line, variant) };
    const [, digits, round] = /^([0-9a-f]{16})\.(.*)$/s.exec(key.text) ?? [];
    if (digits === undefined) throw line.fault("key", key.column);
    return { key: digits, round: line.number(round, key.column + 17, this.notation.max_id, "a round") };
  }

  hands(line, variant) {
    const found = line.takeValue("hands");
    if (!found) {
      const { text, column } = line.take("key= or hands=");
      throw line.fault("deal", column, text);
    }
    const { loaded } = this,
      most = variant.notation.most_cards,
      players = variant.num_players;
    let { column } = found,
      seen = 0n;
    const hands = found.text.split("/").map((part) => {
      const hand = this.cards(line, part, column),
        size = loaded.count(hand);
      if (hand & seen) throw line.fault("two hands", column, "", { cards: loaded.text(hand & seen) });
      if (size < 1 || size > most) throw line.fault("hand size", column, "", { most });
      seen |= hand;
      column += part.length + 1;
      return loaded.text(hand);
    });
    if (hands.length !== players) throw line.fault("hands", column - 1, "", { count: hands.length, players });
    return { hands, extra: this.extra(line) };
  }

  /** The cards that are dealt besides the hands, each set as text. */
  extra(line) {
    const extra = {},
      { loaded } = this;
    for (const [word, name, first] of this.notation.extra) {
      const found = line.takeValue(word);
      if (!found) continue;
      extra[name] = loaded.text(this.cards(line, found.text, found.column));
      if (!first) continue;
      const card = loaded.cards.find((text) => found.text.startsWith(text));
      if (!card) throw line.fault("starter", found.column, found.text);
      extra[first] = card;
    }
    return extra;
  }

  /** A play as `{action, mask}`, or its cards as `{mask}`. */
  play(line, variant, { text, column }) {
    const { loaded, notation } = this;
    const texts = variant.play_words && this.tables.texts[variant.play_words];
    if (!texts && this.named.has(text)) return { named: text };
    if (!texts) {
      const mask = text === notation.pass ? 0n : this.cards(line, text, column);
      if (!mask && text !== notation.pass)
        throw line.fault("no cards", column, text, { word_2: notation.pass });
      return { mask };
    }
    const [name, cards] = loaded.hasCardChoice ? text.split(":") : [text];
    const action = texts.indexOf(name);
    if (action < 0) throw new RecordError(fill(variant.notation.not_a_play, { word: name }), column);
    return { action, mask: cards === undefined ? null : this.cards(line, cards, column + name.length + 1) };
  }

  results(line, players) {
    const { result, has_places, max_id } = this.notation;
    if (!line.next) return null;
    line.take("'='");
    const words = Array.from({ length: players }, () => line.take(result));
    if (line.next) {
      const { text, column } = line.take("");
      throw line.fault("after", column, text);
    }
    const found = words.map(({ text, column }) => {
      if (has_places) return line.number(text, column, players - 1, result);
      const isBelow = text.startsWith("-");
      return (isBelow ? -1 : 1) * line.number(text.slice(isBelow ? 1 : 0), column, max_id, result);
    });
    if (has_places && new Set(found).size < players) throw line.fault("places", words[0].column);
    return found;
  }

  /** All of a line: the variant, how the round begins, the plays with their columns, the results. */
  read(text) {
    const line = new Line(text, this.notation);
    const { record } = this.loaded.words;
    const form = line.take(record);
    if (form.text !== record) throw line.fault("form", form.column, form.text, { form: record });
    const variant = this.variant(line),
      players = variant.num_players;
    const at = line.items[line.at]?.text.startsWith("hands=") ? line.items[line.at].column : 1;
    const deal = this.deal(line, variant);
    const lead = line.takeValue("lead");
    const leader = lead && line.number(lead.text, lead.column, players - 1, "a seat");
    const colon = line.take("':'");
    if (colon.text !== ":") throw line.fault("colon", colon.column, colon.text);
    const plays = [];
    while (line.next && line.next !== "=") {
      const word = line.take("a play");
      plays.push({ ...this.play(line, variant, word), column: word.column });
    }
    const results = this.results(line, players);
    const start = { rules: variant.rules, num_players: players, leader, scores: null, ...deal };
    return { start, variant, plays, results, at, end: line.length + 1 };
  }

  /** The sentence about results that do not follow from the plays. */
  wrongResults(found, results, end) {
    const written = (numbers) => (numbers ? `(${numbers.join(", ")})` : "no end");
    const names = { found: written(found), results: written(results) };
    return new RecordError(fill(this.notation.faults.results, names), end);
  }
}
