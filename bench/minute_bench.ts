import type { Row } from "./row.ts";
import { compareSteady, lagText, rateText, shareOf, type SteadySide, typical } from "./steady_rows.ts";
import { measureBareRequests, measureScheduledRequests } from "./service_subject.ts";
import type { Workplace } from "./workplace.ts";

const CHECKS = 10_000;
const INTERVAL_SECONDS = 60;
/** From here on the state is steady: every check has run. */
const WARM_UP_SECONDS = INTERVAL_SECONDS;
const SECONDS = 120;
const SHARE_AIM = 8;
const MEMORY_AIM = 160;

/** Measures the load of 10,000 requests once a minute, for two minutes. */
export async function benchMinute(workplace: Workplace): Promise<readonly Row[]> {
  const perSecond = CHECKS / INTERVAL_SECONDS;
  const span = {
    warmUpSeconds: workplace.effort.seconds(WARM_UP_SECONDS),
    seconds: workplace.effort.seconds(SECONDS),
  };
  // Both at once, since they take little, and so the same of everything else.
  const [scheduled, looped] = await Promise.all([
    measureScheduledRequests(workplace, { ...span, count: CHECKS, intervalSeconds: INTERVAL_SECONDS }),
    measureBareRequests(workplace, { ...span, perSecond }),
  ]);
  const monitor: SteadySide = { name: "watching", samples: [scheduled], perSecond };
  const bare: SteadySide = { name: "a bare fetch loop", samples: [looped], perSecond };
  const name = "10,000 requests a minute";
  return [
    {
      name: `${name}, share of a processor`,
      value: shareOf(monitor),
      unit: "%",
      aim: SHARE_AIM,
      note: `in ${span.seconds} s; ${rateText(monitor)}; ${lagText(monitor)}`,
    },
    {
      name: `${name}, most memory that was resident`,
      value: typical(monitor, "peakBytes") / 1e6,
      unit: "MB",
      aim: MEMORY_AIM,
      note: "after every check has run once",
    },
    ...compareSteady(name, monitor, bare),
  ];
}
