/** Thrown when looking at a value has cost more steps than it may. */
export class TooManySteps extends Error {
  /** The name of the class. */
  override readonly name = "TooManySteps";
}

/** A value at which every look costs steps. */
export interface Metered {
  /** Stands for the value; its parts are metered too. */
  readonly value: unknown;
  /** What a part of `value` stands for. */
  plain(part: unknown): unknown;
  /**
   * Takes steps for work that is no look at the value.
   * @throws {TooManySteps} If they are more than what is left.
   */
  spend(steps: number): void;
}

/** Characters of a text that cost one step. */
const STEP_LENGTH = 64;

/** What looking may cost. */
export interface MeterOptions {
  /** How many steps there are. */
  readonly stepsMax: number;
  /** How many each look takes. */
  readonly lookSteps: number;
}

/**
 * Lets others look at a value of JSON for so many steps: what reads it throws {@linkcode TooManySteps} then, and so
 * ends, however it goes about it.
 */
export function meter(value: unknown, { stepsMax, lookSteps }: MeterOptions): Metered {
  let left = stepsMax;
  const targets = new WeakMap<object, unknown>();
  const stands = new WeakMap<object, object>();
  const spend = (steps: number): void => {
    left -= steps;
    if (left < 0) throw new TooManySteps();
  };
  const wrap = (part: unknown): unknown => {
    if (typeof part === "string") spend(Math.floor(part.length / STEP_LENGTH));
    if (typeof part !== "object" || part === null) return part;
    let stand = stands.get(part);
    if (stand === undefined) {
      stand = new Proxy(part, handler);
      stands.set(part, stand);
      targets.set(stand, part);
    }
    return stand;
  };
  const handler: ProxyHandler<object> = {
    get(target, name) {
      spend(lookSteps);
      return wrap(Reflect.get(target, name));
    },
    has(target, name) {
      spend(lookSteps);
      return Reflect.has(target, name);
    },
    getOwnPropertyDescriptor(target, name) {
      spend(lookSteps);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
    ownKeys(target) {
      const names = Reflect.ownKeys(target);
      spend(names.length * lookSteps);
      return names;
    },
  };
  return {
    value: wrap(value),
    plain: (part) => typeof part === "object" && part !== null ? targets.get(part) ?? part : part,
    spend,
  };
}
