/** What is told of runs that began late, or that were held up. */
export interface Lateness {
  /** How many, since it was told last. */
  readonly count: number;
  /** By how much the worst of them was. */
  readonly worstMs: number;
  /** The check of that one. */
  readonly name: string;
}

/** Where {@linkcode createLatenessTeller} gets its time, and whom it tells. */
export interface LatenessOptions {
  /** Calls back once after a delay. */
  after(delayMs: number, callback: () => void): void;
  /** Called with what is to be told. */
  tell(lateness: Lateness): void;
}

/** Less than this is no lateness worth a word. */
const LATE_MS = 1_000;
const TOLD_EVERY_MS = 60_000;

/**
 * Makes what is to be called with the lateness of every run: the first late one is told at once, those of the
 * minute after it together, so that an overload does not fill the log.
 */
export function createLatenessTeller(
  { after, tell }: LatenessOptions,
): (name: string, lateMs: number) => void {
  let noted: Lateness | null = null;
  let isResting = false;
  const tellNoted = (): void => {
    isResting = noted !== null;
    if (noted === null) return;
    const lateness = noted;
    noted = null;
    after(TOLD_EVERY_MS, tellNoted);
    tell(lateness);
  };
  return (name, lateMs) => {
    if (lateMs < LATE_MS) return;
    const isWorst = noted === null || lateMs > noted.worstMs;
    noted = {
      count: (noted?.count ?? 0) + 1,
      worstMs: isWorst ? lateMs : noted?.worstMs ?? lateMs,
      name: isWorst ? name : noted?.name ?? name,
    };
    if (!isResting) tellNoted();
  };
}
