/**
 * Whether a check changes too often: the rule of Nagios with its default thresholds
 * (https://assets.nagios.com/downloads/nagioscore/docs/nagioscore/4/en/flapping.html).
 */

export const FLAPPING_RESULTS = 21;
/** From this percentage on, a check flaps. */
const START_PERCENT = 20;
/** Below this percentage, it no longer does. */
const STOP_PERCENT = 5;
/** The weights of the oldest and the newest change; between them, they grow evenly. */
const WEIGHTS = [0.8, 1.2] as const;

/** Returns how many of the possible changes happened, in percent: newer ones count more. 0 with fewer results. */
export function changePercent(recent: string): number {
  const results = recent.slice(-FLAPPING_RESULTS);
  if (results.length < FLAPPING_RESULTS) return 0;
  const possible = FLAPPING_RESULTS - 1;
  const [oldest, newest] = WEIGHTS;
  let sum = 0;
  for (let index = 1; index <= possible; index++) {
    if (results[index] === results[index - 1]) continue;
    sum += oldest + (newest - oldest) * (index - 1) / (possible - 1);
  }
  return 100 * sum / possible;
}

/** Returns whether a check flaps now. Between the thresholds, it is as it was. */
export function flaps(recent: string, didFlap: boolean): boolean {
  const percent = changePercent(recent);
  return didFlap ? percent >= STOP_PERCENT : percent >= START_PERCENT;
}
