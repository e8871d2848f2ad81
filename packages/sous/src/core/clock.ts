/** Time and names as arguments, so that a test can own them. */

/** Time and timers: the machine's, or a test's own. */
export type Clock = {
  /** Wall time in milliseconds since 1970; for showing and storing. */
  now(): number;
  /** As `now`, for what comes many times at once: at least as late as the start of this turn of the event loop. */
  lately?(): number;
  /** Milliseconds that never jump; for measuring and deadlines. */
  monotonic(): number;
  /**
   * Calls back once after at least `milliseconds`; disposing the timer before that prevents it. One that is `isQuiet` does not
   * keep the process alive.
   */
  timer(milliseconds: number, callback: () => void, isQuiet?: boolean): Disposable;
};

/** A moment after which something is called, once. Disposing it earlier prevents that. */
export type Deadline = Disposable & {
  /** Stops its time; pauses are counted, so two questions at once need two answers. */
  pause(): void;
  resume(): void;
  /** Milliseconds until it is due; 0 when it has been or is disposed. */
  remaining(): number;
};

/** All deadlines of a tree: however many there are, they share one timer. */
export type Deadlines = {
  /** Never calls back at once, also when `milliseconds` is 0. */
  add(milliseconds: number, onDue: () => void): Deadline;
};

/** A number in [0, 1). */
export type Random = () => number;

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const RANDOM_DIGITS = 16;

/** Makes ULIDs: sortable by time, monotonic within a millisecond, also when the clock steps back. */
export function ulidSource(now: () => number, random: Random): () => string {
  let lastTime = -1;
  let prefix = "";
  const digits = new Array<number>(RANDOM_DIGITS).fill(0);
  return () => {
    const time = Math.max(now(), lastTime);
    if (time === lastTime && increment(digits)) return encode(prefix, digits);
    lastTime = time === lastTime ? time + 1 : time;
    prefix = encodeTime(lastTime);
    for (let index = 0; index < RANDOM_DIGITS; index++) digits[index] = Math.floor(random() * 32);
    return encode(prefix, digits);
  };
}

/** Adds one to the number; false when it was the largest. */
function increment(digits: number[]): boolean {
  for (let index = digits.length - 1; index >= 0; index--) {
    const digit = digits[index] ?? 0;
    if (digit < 31) {
      digits[index] = digit + 1;
      return true;
    }
    digits[index] = 0;
  }
  return false;
}

/** From bytes, not by adding characters: the text is then one flat piece in memory, of which a wide tree has many. */
function encode(prefix: string, digits: readonly number[]): string {
  const codes = new Array<number>(prefix.length + digits.length);
  for (let index = 0; index < prefix.length; index++) codes[index] = prefix.charCodeAt(index);
  for (let index = 0; index < digits.length; index++)
    codes[prefix.length + index] = ALPHABET.charCodeAt(digits[index] ?? 0);
  return String.fromCharCode(...codes);
}

function encodeTime(time: number): string {
  let text = "";
  for (let rest = time, place = 0; place < 10; place++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** What the runtime needs from the machine it runs on. */
export type Host = {
  clock: Clock;
  random: Random;
  /** Where tools work. */
  cwd: string;
  /** Variables by name; those that look like secrets are taken out of everything that is kept. */
  environment: Readonly<Record<string, string | undefined>>;
};
