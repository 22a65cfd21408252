/** One's own games: the list, and what they came to. */
import { useState } from "preact/hooks";
import { decimal, pointsText, rulesWords, t, unitsText } from "./i18n.ts";
import { go, Header, type ScreenProps } from "./parts.tsx";
import { removeGame, seatOf, storedGames, type LocalGame } from "./stored.ts";

interface Listed {
  id: string;
  game: LocalGame;
}

/** What a game that is over came to for the person, in words: units where money is played for. */
function outcomeOf(game: LocalGame): string {
  const { result } = game,
    seat = seatOf(game);
  if (!result) return t("unfinished");
  if (seat < 0) return t("gameOver");
  return result.balances ? unitsText(result.balances[seat]!) : pointsText(result.scores[seat] ?? 0);
}

/** The list of games with what they came to. */
export function Games({ onLeave, onSettings }: ScreenProps) {
  const [games, setGames] = useState(storedGames);
  const [asked, setAsked] = useState(""); // the game that is deleted by a second press
  const remove = (id: string): void => {
    if (asked === id) {
      removeGame(id);
      setGames(storedGames());
    } else setAsked(id);
  };
  return (
    <main class="setup games">
      <Header title={t("yourGames")} onLeave={onLeave} onSettings={onSettings} />
      <Statistics games={games} />
      {!games.length && <p>{t("noGames")}</p>}
      <ol class="game-list">
        {games.map((one) => (
          <GameRow key={one.id} {...one} isAsked={asked === one.id} onRemove={() => remove(one.id)} />
        ))}
      </ol>
    </main>
  );
}

/** What the person's games came to under some rules. */
function statisticsOf(games: Listed[], rules: string): { number: number; won: number; mean: number } {
  const of = games.filter(({ game }) => game.config.rules === rules);
  const mine = of.map(({ game }) => (game.result!.balances ?? game.result!.scores)[seatOf(game)]!);
  return {
    number: of.length,
    won: of.filter(({ game }) => game.result!.winner === seatOf(game)).length,
    mean: mine.reduce((a, b) => a + b, 0) / of.length,
  };
}

function Statistics({ games }: { games: Listed[] }) {
  const own = games.filter(({ game }) => game.result && seatOf(game) >= 0);
  if (!own.length) return null;
  const all = [...new Set(own.map(({ game }) => game.config.rules))];
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("rules")}</th>
          <th scope="col">{t("games")}</th>
          <th scope="col">{t("won")}</th>
          <th scope="col">{t("meanPoints")}</th>
        </tr>
      </thead>
      <tbody>
        {all.map((rules) => {
          const { number, won, mean } = statisticsOf(own, rules);
          return (
            <tr key={rules}>
              <th scope="row">{rulesWords(rules)}</th>
              <td>{number}</td>
              <td>{won}</td>
              <td>{decimal(mean, 2)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** A game; it is deleted by a second press. */
function GameRow({ id, game, isAsked, onRemove }: Listed & { isAsked: boolean; onRemove: () => void }) {
  const date = new Date(Number(id)).toLocaleString(document.documentElement.lang);
  return (
    <li>
      <span>
        {date} · {rulesWords(game.config.rules)} · {outcomeOf(game)}
      </span>
      <span class="actions">
        <button type="button" onClick={() => go(`table=${id}`)}>
          {t(game.result ? "look" : "continue")}
        </button>
        {game.result && seatOf(game) >= 0 && (
          <button type="button" class="learn" onClick={() => go(`learn=${id}`)}>
            {t("learn")}
          </button>
        )}
        <button type="button" class="remove" onClick={onRemove}>
          {t(isAsked ? "removeReally" : "remove")}
        </button>
      </span>
    </li>
  );
}
