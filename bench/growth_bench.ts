import { TEST_CHECK } from "./documents.ts";
import { megabytesText } from "./measure.ts";
import type { Row } from "./row.ts";
import { costUs, latenessText, rateText, type SteadySide, typical } from "./steady_rows.ts";
import { measureWatch } from "./watch_subject.ts";
import type { Workplace } from "./workplace.ts";

const SIZES = [100, 1_000, 10_000, 100_000];
/** Of all sizes, so that with the number of checks only their interval grows. */
const PER_SECOND = 100;
/** Until the engine has tidied up after the start and compiled what runs often: what a run costs falls for minutes. */
const WARM_UP_SECONDS = 300;
const SECONDS = 120;
const AIM = 1.25;

/** What a run of a check that does nothing costs a watching monitor, among few and among many. */
export async function benchGrowth(workplace: Workplace): Promise<readonly Row[]> {
  const seconds = workplace.effort.seconds(SECONDS);
  // All at once, since they take little: so whatever else the machine does hits all of them alike.
  const sides = await Promise.all(SIZES.map(async (count): Promise<SteadySide> => ({
    name: count.toLocaleString("en"),
    samples: [
      await measureWatch(workplace, {
        check: TEST_CHECK,
        count,
        intervalSeconds: count / PER_SECOND,
        warmUpSeconds: workplace.effort.seconds(WARM_UP_SECONDS),
        seconds,
      }),
    ],
    perSecond: PER_SECOND,
  })));
  const [smallest, ...larger] = sides;
  if (smallest === undefined) return [];
  return larger.map((side): Row => ({
    name: `a run among ${side.name} checks to one among ${smallest.name}, processor time`,
    value: costUs(side) / costUs(smallest),
    unit: "×",
    aim: AIM,
    note: [
      `${costUs(side).toFixed(0)} µs to ${costUs(smallest).toFixed(0)} µs`,
      `${megabytesText(typical(side, "residentBytes"))} to ${
        megabytesText(typical(smallest, "residentBytes"))
      } resident`,
      rateText(side, smallest),
      latenessText(side),
    ].join("; "),
  }));
}
