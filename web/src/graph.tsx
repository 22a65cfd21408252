/** The graph of expected points, or payments, over a round. */
import type { Judged } from "./analysis.ts";
import { t } from "./i18n.ts";
import { useNarrow } from "./parts.tsx";

const PAD = 34;

export function Graph({ judged, paid, numTurns, turn, names, worst, onStep }: {
  judged: Judged[]; paid: boolean; numTurns: number; turn: number; names: string[]; worst: Judged[]; onStep: (turn: number) => void;
}) {
  // In a narrow window the same lines have fewer units, so that texts and points stay large enough.
  const [W, H] = useNarrow() ? [340, 210] : [640, 220];
  if (!judged.length) return null;
  const all = judged.flatMap(({ points, bestPoints }) => [points, bestPoints]);
  const low = Math.floor(Math.min(0, ...all)), high = Math.ceil(Math.max(1, ...all));
  const x = (n: number): number => PAD + ((W - PAD - 8) * n) / Math.max(1, numTurns - 1);
  const y = (points: number): number => H - PAD + 8 - ((H - PAD - 4) * (points - low)) / (high - low);
  const seats = [...new Set(judged.map(({ seat }) => seat))].sort();
  const step = Math.ceil((high - low) / 8);
  const lines = Array.from({ length: high - low + 1 }, (_, i) => low + i).filter((points) => points % step === 0);
  const title = t(paid ? "graphPaid" : "graph");
  return (
    <figure class="graph">
      <h3>{title}</h3>
      <svg viewBox={`0 0 ${W} ${H}`} role="img" aria-label={title}>
        {lines.map((points) => (
          <g key={points}><line class="grid" x1={PAD} x2={W - 8} y1={y(points)} y2={y(points)} /><text class="tick" x={PAD - 8} y={y(points) + 4} text-anchor="end">{points}</text></g>
        ))}
        <line class="now" x1={x(turn)} x2={x(turn)} y1={4} y2={H - PAD + 8} />
        {seats.map((seat) => {
          const own = judged.filter((one) => one.seat === seat);
          return <g key={seat} class={`line seat-${seat % 7}`}>
            <polyline points={own.map((one) => `${x(one.turn)},${y(one.points)}`).join(" ")} />
            {own.map((one) => <circle key={one.turn} cx={x(one.turn)} cy={y(one.points)} r={worst.includes(one) ? 6 : 2.5} class={worst.includes(one) ? "loss" : ""} onClick={() => onStep(one.turn)} />)}
          </g>;
        })}
        <text class="tick" x={W / 2} y={H - 4} text-anchor="middle">{t("move")}</text>
      </svg>
      <figcaption>{seats.map((seat) => <span key={seat} class={`key seat-${seat % 7}`}><i aria-hidden="true" />{names[seat]}</span>)}</figcaption>
    </figure>
  );
}
