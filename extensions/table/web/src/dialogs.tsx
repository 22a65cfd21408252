/** What a table shows when it is asked: hints, links for other people, the plays of the round; and the cover of a hand. */
import qrcode from "qrcode-generator";
import { useMemo } from "preact/hooks";
import { PlayText } from "./cards.tsx";
import { decimal, estimateText, t, type Key } from "./i18n.ts";
import { playsOf, type HintPlay, type TableView } from "./model.ts";
import { Copy, Dialog } from "./parts.tsx";
import { nameOf } from "./said.ts";

const MOST_HINTS = 6;

/** One play of a hint, with its probability or its expected points. */
function HintButton({ play, onPick }: { play: HintPlay; onPick: (text: string) => void }) {
  const { probability, points, half_width } = play;
  return (
    <button type="button" onClick={() => onPick(play.text)}>
      {probability !== null && (
        <span class="bar-back">
          <span
            class="bar"
            ref={(bar) => {
              if (bar) bar.style.width = `${100 * probability}%`;
            }}
          />
        </span>
      )}
      <span class="what">
        <PlayText text={play.text} />
      </span>
      {probability !== null ? (
        <span class="percent">{decimal(100 * probability, probability < 0.1 ? 1 : 0)} %</span>
      ) : (
        <span class="points">{estimateText(points ?? 0, half_width)}</span>
      )}
    </button>
  );
}

/** The best plays, as an adviser has them. */
export function HintPanel({
  plays,
  onPick,
  onClose,
}: {
  plays: HintPlay[];
  onPick: (text: string) => void;
  onClose: () => void;
}) {
  const valueOf = (play: HintPlay): number => play.probability ?? play.points ?? 0;
  const best = [...plays].sort((a, b) => valueOf(b) - valueOf(a)).slice(0, MOST_HINTS);
  const title = t(plays[0]?.probability == null ? "hintSearch" : "hintTitle");
  return (
    <aside class="hints" aria-label={title}>
      <h2>{title}</h2>
      <ol>
        {best.map((play) => (
          <li key={play.id}>
            <HintButton play={play} onPick={onPick} />
          </li>
        ))}
      </ol>
      <button type="button" class="quiet" onClick={onClose}>
        {t("close")}
      </button>
    </aside>
  );
}

/** A link that opens a seat; null: that of spectators. */
export interface Invitation {
  seat: number | null;
  link: string;
}

/** The size of a QR code, and its dark squares as a path. */
function codeOf(link: string): { n: number; path: string } {
  const code = qrcode(0, "M");
  code.addData(link);
  code.make();
  const n = code.getModuleCount(),
    all = Array.from({ length: n }, (_, i) => i);
  const dark = all.flatMap((y) => all.filter((x) => code.isDark(y, x)).map((x) => `M${x} ${y}h1v1h-1z`));
  return { n, path: dark.join("") };
}

/** A browser copies only where the address is safe, so the link itself is there, too. */
function InvitationRow({ seat, link }: Invitation) {
  const { n, path } = useMemo(() => codeOf(link), [link]);
  return (
    <li>
      <b>{seat === null ? t("spectators") : t("seat", seat + 1)}</b>{" "}
      <a href={link} target="_blank" rel="noopener">
        {link}
      </a>
      <svg class="qr" viewBox={`-4 -4 ${n + 8} ${n + 8}`} role="img" aria-label={t("qrCode")}>
        <rect x="-4" y="-4" width={n + 8} height={n + 8} fill="#fff" />
        <path d={path} fill="#000" />
      </svg>
      <Copy text={link} />
    </li>
  );
}

/** The links; `isOpen`: other machines reach the server. */
export function InviteDialog({
  invitations,
  isOpen,
  onClose,
}: {
  invitations: Invitation[];
  isOpen: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title={t("invite")} kind="invite" onClose={onClose}>
      <p>
        {t("inviteHelp")} {t(isOpen ? "plainHttp" : "onlyHere")}
      </p>
      <ul>
        {invitations.map((one) => (
          <InvitationRow key={one.seat} {...one} />
        ))}
      </ul>
    </Dialog>
  );
}

/** The plays of the round: those of the trick on the table first, then all before them, the last one first. */
export function PlaysDialog({ view, onClose }: { view: TableView; onClose: () => void }) {
  const plays = playsOf(view).map((play, number) => ({ ...play, number }));
  const ofRound = plays.filter(({ round }) => round === view.round);
  const parts: [Key, typeof plays][] = [
    ["thisTrick", ofRound.filter(({ number }) => number >= view.lead_at)],
    ["before", ofRound.filter(({ number }) => number < view.lead_at).reverse()],
  ];
  return (
    <Dialog title={t("plays")} kind="plays-of-round" onClose={onClose}>
      {parts.map(([title, some]) =>
        some.length ? (
          <section key={title}>
            <h3>{t(title)}</h3>
            <ol>
              {some.map(({ number, seat, text }) => (
                <li key={number}>
                  <span>{nameOf(seat, view)}</span> <PlayText text={text} />
                </li>
              ))}
            </ol>
          </section>
        ) : null,
      )}
    </Dialog>
  );
}

/** Covers the table until the person in turn has the device. */
export const Cover = ({ name, onTake }: { name: string; onTake: () => void }) => (
  <Dialog title={t("handTo", name)} kind="cover">
    <p class="actions">
      <button type="button" class="main take" onClick={onTake} autofocus>
        {t("showHand")}
      </button>
    </p>
  </Dialog>
);
