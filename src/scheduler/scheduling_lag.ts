export interface LagSummary {
  /** How many, since the last summary. */
  readonly count: number;
  readonly highestMs: number;
  readonly name: string;
}

interface LagReporterOptions {
  after(delayMs: number, callback: () => void): void;
  report(summary: LagSummary): void;
}

/** A shorter lag is not reported. */
const LAG_MS_MIN = 1_000;
const REPORT_EVERY_MS = 60_000;

/**
 * Returns the function to call with the lag of each run. The first lag is reported at once, those of the minute after it
 * together, so that an overload does not fill the log.
 */
export function createLagReporter(
  { after, report }: LagReporterOptions,
): (name: string, lagMs: number) => void {
  let noted: LagSummary | null = null;
  let isResting = false;
  const reportNoted = (): void => {
    isResting = noted !== null;
    if (noted === null) return;
    const summary = noted;
    noted = null;
    after(REPORT_EVERY_MS, reportNoted);
    report(summary);
  };
  return (name, lagMs) => {
    if (lagMs < LAG_MS_MIN) return;
    const lag = { count: 0, highestMs: lagMs, name };
    const highest = noted === null || lagMs > noted.highestMs ? lag : noted;
    noted = { ...highest, count: (noted?.count ?? 0) + 1 };
    if (!isResting) reportNoted();
  };
}
