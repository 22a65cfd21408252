/** The lesson: small prepared hands with one idea each. The engine decides what is legal and what a play is. */
import { useMemo, useState } from "preact/hooks";
import { say, t, type Words } from "./i18n.ts";
import { LocalHost } from "./local.ts";
import { PERSON } from "./model.ts";
import type { Settings } from "./parts.tsx";
import { Table, type Coach } from "./table.tsx";

interface Step {
  text: Words;
  hands: string[];
  /** What the other player has led, as cards and the engine's number of the action. */
  led?: [string, number];
  /** The engine's name of the right play; null: the round must be won. */
  goal: RegExp | null;
  rules?: string;
}
const words = (en: string, vi: string): Words => ({ en, vi });

const STEPS: Step[] = [
  { text: words("A 7 lies on the table. Beat it with a higher card: 3 is the lowest rank, 2 the highest. Tap the card.", "Trên bàn có lá 7. Hãy đánh một lá lớn hơn: 3 nhỏ nhất, 2 (heo) lớn nhất. Chạm vào lá bài."), hands: ["5d 9c", "7s 8d Jc"], led: ["7s", 17], goal: /^single 9/ },
  { text: words("Of one rank the suit decides: ♠ is the lowest, then ♣, ♦ and ♥. Beat the 9♠.", "Cùng số thì so chất: ♠ nhỏ nhất, rồi ♣, ♦, ♥. Hãy chặn 9♠."), hands: ["4c 6d 9h", "9s Jc Qd"], led: ["9s", 25], goal: /^single 9/ },
  { text: words("A pair is followed by a higher pair; a single 2 does not help here.", "Đôi phải chặn bằng đôi lớn hơn; một lá heo không chặn được."), hands: ["4c 8c 8d 2s", "5s 5h Jc Qd"], led: ["5s 5h", 61], goal: /^pair/ },
  { text: words("Three or more ranks in a row are a run; suits do not matter. Play a higher run of three.", "Ba số liền nhau trở lên là sảnh, không cần cùng chất. Hãy đánh sảnh ba lá lớn hơn."), hands: ["4c 6d 7s 8h Kd", "3s 4d 5c Jc Qd"], led: ["3s 4d 5c", 132], goal: /^run/ },
  { text: words("You hold nothing that beats the A♥. Pass: you stay out until this trick is over.", "Bạn không có lá nào chặn được A♥. Hãy bỏ lượt: bạn nghỉ đến hết vòng này."), hands: ["4s 6d 9c", "Jc Qd Ah"], led: ["Ah", 48], goal: /^pass/ },
  { text: words("A 2 (heo) beats every single card. Take the trick with it.", "Heo chặn được mọi lá lẻ. Hãy dùng heo."), hands: ["4s 6d 2c", "Kd Jc Qd"], led: ["Kd", 43], goal: /^single 2/ },
  { text: words("Only bombs chop a 2: four of a kind, or three pairs in a row. Chop the 2♥!", "Chỉ có hàng chặt được heo: tứ quý hoặc ba đôi thông. Hãy chặt 2♥!"), hands: ["4s 4c 5d 5h 6s 6d Kc", "Jc Qd 2h"], led: ["2h", 52], goal: /^double sequence/ },
  { text: words("You lead, and the other player holds one card. Win: get rid of the pair first, then of the K.", "Bạn ra bài, người kia còn một lá. Hãy thắng: đánh đôi trước, rồi đến K."), hands: ["6s 6d Kc", "Ah"], goal: null },
  { text: words("In the South it costs money: who chops a red 2 gets 2 units at once. Chop it with four of a kind, and look at the units.", "Ở miền Nam có ăn tiền: chặt một heo đỏ được 2 đơn vị. Hãy chặt bằng tứ quý và xem số đơn vị."), hands: ["7s 7c 7d 7h Kc", "Jc Qd 2h"], led: ["2h", 52], goal: /^quad/, rules: "south" },
];

export function Lesson({ settings, onLeave, onSettings }: { settings: Settings; onLeave: () => void; onSettings: () => void }) {
  const [number, setNumber] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const step = STEPS[number]!;
  const host = useMemo(() => {
    const rules = step.rules ?? "cardgames";
    const plays = step.led ? [{ action: step.led[1], cards: step.led[0] }] : [];
    const round = { rules, num_players: 2, key: "", round: 0, leader: step.led ? 1 : 0, scores: null, hands: step.hands, plays };
    return new LocalHost({ config: { rules, seats: [PERSON, "heuristic"], whole_game: false, pause: 900 }, rounds: [round], roundsSeen: 0 }, null);
  }, [number, attempt]);

  const coach: Coach = (view, texts) => {
    const own = view.events.find((event) => event.type === "play" && event.seat === 0);
    const played = own?.type === "play" ? texts[own.id] ?? "" : null;
    const isDone = step.goal ? played !== null && step.goal.test(played) && (!view.balances || view.balances[0]! > 0) : view.places[0] === 0;
    const isMissed = !isDone && (step.goal ? played !== null && !step.goal.test(played) : view.places[1] === 0);
    const isLast = number === STEPS.length - 1;
    return (
      <aside class="coach" aria-label={t("lesson")}>
        <h2>{t("lesson")} {number + 1} / {STEPS.length}</h2>
        <p role="status">{isDone ? t(isLast ? "lessonOver" : "well") : isMissed ? `${t("notYet")} ${say(step.text)}` : say(step.text)}</p>
        <p class="actions">
          {isMissed && <button type="button" class="main again" onClick={() => setAttempt(attempt + 1)}>{t("tryAgain")}</button>}
          {isDone && <button type="button" class="main next" onClick={() => (isLast ? onLeave() : setNumber(number + 1))}>{t(isLast ? "newGame" : "nextStep")}</button>}
        </p>
      </aside>
    );
  };
  return <Table key={`${number}/${attempt}`} host={host} settings={settings} invitations={[]} isOpen={false} coach={coach} onLeave={onLeave} onSettings={onSettings} onExplore={() => {}} />;
}
