/** The graph of expected points, or payments, over a round. */
import { t } from "./i18n.ts";
import type { Judged } from "./judge.ts";
import { useNarrow } from "./parts.tsx";

const PAD = 34;
const MOST_LINES = 8;
const NUM_COLOURS = 7;
const LARGE = 6; // radius of a point that is a loss
const SMALL = 2.5;

interface GraphProps {
  judged: Judged[];
  paid: boolean;
  numTurns: number;
  turn: number;
  names: string[];
  worst: Judged[];
  onStep: (turn: number) => void;
}

/** Where turns and points lie. */
interface Scale {
  width: number;
  height: number;
  x: (turn: number) => number;
  y: (points: number) => number;
  /** The points of the lines across. */
  lines: number[];
}

function scaleOf(judged: Judged[], numTurns: number, [width, height]: readonly [number, number]): Scale {
  const all = judged.flatMap(({ points, bestPoints }) => [points, bestPoints]);
  const low = Math.floor(Math.min(0, ...all)),
    high = Math.ceil(Math.max(1, ...all));
  const step = Math.ceil((high - low) / MOST_LINES);
  return {
    width,
    height,
    x: (turn) => PAD + ((width - PAD - 8) * turn) / Math.max(1, numTurns - 1),
    y: (points) => height - PAD + 8 - ((height - PAD - 4) * (points - low)) / (high - low),
    lines: Array.from({ length: high - low + 1 }, (_, i) => low + i).filter((points) => points % step === 0),
  };
}

/** The lines across, with their points. */
const Grid = ({ width, y, lines }: Scale) => (
  <>
    {lines.map((points) => (
      <g key={points}>
        <line class="grid" x1={PAD} x2={width - 8} y1={y(points)} y2={y(points)} />
        <text class="tick" x={PAD - 8} y={y(points) + 4} text-anchor="end">
          {points}
        </text>
      </g>
    ))}
  </>
);

/** The decisions of a seat. */
function Line({
  own,
  scale,
  worst,
  onStep,
}: { own: Judged[]; scale: Scale } & Pick<GraphProps, "worst" | "onStep">) {
  const { x, y } = scale;
  return (
    <g class={`line seat-${own[0]!.seat % NUM_COLOURS}`}>
      <polyline points={own.map(({ turn, points }) => `${x(turn)},${y(points)}`).join(" ")} />
      {own.map((one) => (
        <circle
          key={one.turn}
          cx={x(one.turn)}
          cy={y(one.points)}
          r={worst.includes(one) ? LARGE : SMALL}
          class={worst.includes(one) ? "loss" : ""}
          onClick={() => onStep(one.turn)}
        />
      ))}
    </g>
  );
}

export function Graph({ judged, paid, numTurns, turn, names, worst, onStep }: GraphProps) {
  // In a narrow window the same lines have fewer units, so that texts and points stay large enough.
  const size = useNarrow() ? ([340, 210] as const) : ([640, 220] as const);
  if (!judged.length) return null;
  const scale = scaleOf(judged, numTurns, size);
  const seats = [...new Set(judged.map(({ seat }) => seat))].sort();
  const title = t(paid ? "graphPaid" : "graph");
  return (
    <figure class="graph">
      <h3>{title}</h3>
      <svg viewBox={`0 0 ${size[0]} ${size[1]}`} role="img" aria-label={title}>
        <Grid {...scale} />
        <line class="now" x1={scale.x(turn)} x2={scale.x(turn)} y1={4} y2={size[1] - PAD + 8} />
        {seats.map((seat) => (
          <Line {...{ scale, worst, onStep }} key={seat} own={judged.filter((one) => one.seat === seat)} />
        ))}
        <text class="tick" x={size[0] / 2} y={size[1] - 4} text-anchor="middle">
          {t("move")}
        </text>
      </svg>
      <figcaption>
        {seats.map((seat) => (
          <span key={seat} class={`key seat-${seat % NUM_COLOURS}`}>
            <i aria-hidden="true" />
            {names[seat]}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
