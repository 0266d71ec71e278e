import { addEntries, type ListElement, replaceList } from "../config/add_entries.ts";
import { MINUTE_MS } from "../shared/time_units.ts";
import type { Rehearsal, RehearsedChannel } from "./rehearse.ts";
import type { Scenario } from "./scenario.ts";
import { splitTime } from "./scenario_times.ts";

export function expectedText({ scenario, channels }: Rehearsal): string {
  const { source, expected } = scenario;
  const changed = channels.filter(({ isAsExpected }) => !isAsExpected);
  const text = changed.filter(({ name }) => expected.has(name)).reduce(
    (before, channel) => replaceList(before, ["expect", channel.name], elementsOf(channel, scenario)),
    source.text,
  );
  const added = changed.filter(({ name }) => !expected.has(name));
  return added.length === 0
    ? text
    : addEntries(text, added.map(({ name, lines }) => [name, lines]), "expect");
}

/** Returns the lines to come: one takes the place of a line before it that is missing. */
function elementsOf(
  { name, differences, sent }: RehearsedChannel,
  { expected, startMs, timeZone: zone }: Scenario,
): readonly ListElement[] {
  const elements: ListElement[] = [];
  let missing: number[] = [];
  let afterMs = Math.floor(startMs / MINUTE_MS) * MINUTE_MS;
  for (const { sign, text, ...index } of differences) {
    if (sign === "-") missing.push(index.expected);
    else {
      const atMs = sent[index.actual]?.atMs ?? afterMs;
      // As it was written, unless that means another day after another line.
      const written = sign === " " ? expected.get(name)?.[index.expected]?.line : undefined;
      const timed = written === undefined ? null : splitTime(written, { afterMs, zone });
      const isSame = timed !== null && timed.atMs <= atMs && atMs < timed.untilMs;
      elements.push({
        value: isSame && written !== undefined ? written : text,
        at: sign === " " ? index.expected : missing.shift() ?? null,
      });
      if (sign === " ") missing = [];
      afterMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    }
  }
  return elements;
}
