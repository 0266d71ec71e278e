/** A long random walk of a wheel alongside its oracle, reproducible from a seed. */
import { ComparedWheel, type NumberedTimer } from "./wheel_oracle.ts";

/** The summary of a walk. */
export interface WalkSummary {
  readonly inserted: number;
  readonly expired: number;
  readonly cancelled: number;
  /** How often a new wheel was started because the ticks were used up. */
  readonly wheels: number;
  readonly mostWaiting: number;
}

/** The list of the oracle is slow when it is long; this is long enough to fill all levels. */
const WAITING_MAX = 1500;
const GONE_MAX = 1000;
const LAST_START = 2 ** 52;

/**
 * Walks so many steps.
 *
 * @throws {Error} If the wheel and the oracle differ.
 */
export function walkWheel(seed: number, steps: number): WalkSummary {
  const random = mulberry32(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  /** Small numbers as often as large ones: the exponent is drawn, not the number. */
  const spread = (bits: number) => Math.floor(2 ** (random() * bits)) - 1;
  const gone: NumberedTimer[] = [];
  const forget = (timers: readonly NumberedTimer[]) => {
    for (const timer of timers) {
      if (gone.length < GONE_MAX) gone.push(timer);
      else gone[below(GONE_MAX)] = timer;
    }
  };
  const counts = { inserted: 0, expired: 0, cancelled: 0, wheels: 1, mostWaiting: 0 };
  let wheel = new ComparedWheel(spread(40));

  const deadline = () => {
    const kind = random();
    if (kind < 0.03) return Math.max(0, wheel.tick - spread(20));
    // Again a deadline that some other timer has, to see the order within a tick.
    if (kind < 0.35 && wheel.size > 0) return wheel.waiting(below(wheel.size)).deadline;
    return Math.min(Number.MAX_SAFE_INTEGER, wheel.tick + spread(kind < 0.8 ? 24 : 53));
  };
  const advance = () => {
    const kind = random();
    if (kind < 0.5) return wheel.advanceToNext();
    if (kind < 0.6) return wheel.advance(wheel.tick);
    if (kind < 0.7 && wheel.size > 0) {
      return wheel.advance(Math.max(wheel.tick, wheel.waiting(below(wheel.size)).deadline - below(2)));
    }
    return wheel.advance(Math.min(Number.MAX_SAFE_INTEGER, wheel.tick + spread(kind < 0.999 ? 14 : 48)));
  };

  for (let step = 0; step < steps; step++) {
    const kind = random();
    // Turns between mostly filling and mostly draining.
    const filling = Math.floor(step / 5000) % 2 === 0 ? 0.85 : 0.2;
    if (kind < filling && wheel.size < WAITING_MAX) {
      wheel.insert(deadline());
      counts.inserted++;
      counts.mostWaiting = Math.max(counts.mostWaiting, wheel.size);
    } else if (kind < filling + 0.08 && wheel.size > 0) {
      const place = below(wheel.size);
      forget([wheel.waiting(place)]);
      wheel.cancel(place);
      counts.cancelled++;
    } else if (kind < filling + 0.1 && gone.length > 0) {
      wheel.cancelGone(gone[below(gone.length)] as NumberedTimer);
    } else {
      const expired = advance();
      forget(expired);
      counts.expired += expired.length;
    }
    if (wheel.tick > LAST_START) {
      counts.expired += wheel.advance(Number.MAX_SAFE_INTEGER).length;
      wheel = new ComparedWheel(spread(40));
      gone.length = 0;
      counts.wheels++;
    }
  }
  return counts;
}

/** A small generator by Tommy Ettinger (public domain): 32 bits of state, good enough to make cases. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
