/** Sounds, which the browser makes itself: no file is loaded. */
export type Sound = "card" | "chop" | "turn";

// Hertz at the start and at the end, seconds, and the form of the wave.
const TONES: Record<Sound, [number, number, number, OscillatorType]> = {
  card: [240, 150, 0.08, "triangle"], chop: [200, 45, 0.4, "sawtooth"], turn: [660, 880, 0.15, "sine"],
};
const LATE = 300; // milliseconds; before the first click a page is silent, and what was to be heard then is dropped
let context: AudioContext | null = null;

export function play(name: Sound): void {
  if (!("AudioContext" in window)) return;
  context ??= new AudioContext();
  const audio = context, asked = performance.now();
  audio.resume().then(() => {
    if (performance.now() - asked > LATE) return;
    const [from, to, seconds, form] = TONES[name], now = audio.currentTime;
    const tone = audio.createOscillator(), volume = audio.createGain();
    tone.type = form;
    tone.frequency.setValueAtTime(from, now);
    tone.frequency.exponentialRampToValueAtTime(to, now + seconds);
    volume.gain.setValueAtTime(0.2, now);
    volume.gain.exponentialRampToValueAtTime(0.001, now + seconds);
    tone.connect(volume).connect(audio.destination);
    tone.start(now);
    tone.stop(now + seconds);
  }, () => {});
}
