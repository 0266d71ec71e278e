/** A summary in words: its first sentence and its sections, for plain text and HTML alike. */
import { describeObjective } from "./objectives.ts";
import { cleanLine } from "../../channels/clean_text.ts";
import { describeDuration } from "../../domain/duration.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { percent } from "../../state/availability.ts";
import { createPlainTime, type PlainTime } from "../markup.ts";
import {
  type Bounded,
  type CheckAvailability,
  isMissed,
  type NamedCheck,
  type Outage,
  type SlowCheck,
  type Summary,
  type Undelivered,
  WHOLE_SHARE,
} from "./summarize.ts";

/** A part of a summary. All texts are one line each, without control characters. */
export interface Section {
  readonly title: string;
  readonly items: readonly SectionItem[];
  /** Describes the omitted items; empty: none. */
  readonly more: string;
}

interface SectionItem {
  /** How people call the check or the channel. */
  readonly name: string;
  readonly facts: string;
  /** Whether it requires attention. */
  readonly isBad: boolean;
}

const SHOWN_MAX = 10;
const NAME_LENGTH_MAX = 80;
const OUTPUT_LENGTH_MAX = 120;

/** Returns the first sentence, such as `3 of 42 checks were down, 2 h 14 min in all`. */
export function sentenceOf(summary: Summary): string {
  const { checks, downChecks, stillDown, missedObjectives, warningChecks, withoutData } = summary;
  const { pendingChecks, unknownChecks } = summary;
  const parts = [
    downSentence(summary),
    downChecks === 0 || stillDown === 0 ? "" : `${stillDown} ${stillDown === 1 ? "is" : "are"} still down`,
    pendingChecks === 0 ? "" : `${pendingChecks} failed and ${pendingChecks === 1 ? "is" : "are"} pending`,
    unknownChecks === 0 ? "" : `${unknownChecks} ${unknownChecks === 1 ? "is" : "are"} unknown now`,
    missedObjectives === 0
      ? ""
      : `${missedObjectives} missed ${missedObjectives === 1 ? "its objective" : "their objectives"}`,
    downChecks === 0 && warningChecks > 0
      ? `${countChecks(warningChecks)} had ${warningChecks === 1 ? "a warning" : "warnings"}`
      : "",
    withoutData.count === 0 || withoutData.count === checks
      ? ""
      : `${countChecks(withoutData.count)} ${withoutData.count === 1 ? "has" : "have"} no data`,
  ];
  return parts.filter((part) => part !== "").join("; ");
}

function downSentence({ checks, downChecks, downMs, withoutData, ...period }: Summary): string {
  if (checks === 0) return "There are no checks";
  const observed = checks - withoutData.count;
  if (observed === 0) return "There is no data";
  if (downChecks > 0) {
    const were = downChecks === 1 ? "was" : "were";
    const isPart = [...period.outages.items, ...period.jobs.items].some(({ hasGap }) => hasGap);
    const lasted = `${describeDuration(downMs)} ${isPart ? "observed in all" : "in all"}`;
    return `${downChecks} of ${countChecks(checks)} ${were} down, ${lasted}`;
  }
  const which = observed < checks ? `${countChecks(observed)} with data` : countChecks(checks);
  const were = `${observed === 1 ? "" : "All "}${which} ${observed === 1 ? "was" : "were"} up`;
  const { sinceMs, untilMs, observedMs, partlyObserved } = period;
  if (observedMs < WHOLE_SHARE * (untilMs - sinceMs)) {
    return `${were}; there is data of ${describeDuration(observedMs)} ${observed === 1 ? "only" : "at most"}`;
  }
  return partlyObserved === 0
    ? `${were} ${describeLength(period)}`
    : `${were}; there is data of a part of the time only of ${countChecks(partlyObserved)}`;
}

function countChecks(count: number): string {
  return `${count} ${count === 1 ? "check" : "checks"}`;
}

/** Such as `all week`; a DST change makes no difference. */
function describeLength({ sinceMs, untilMs }: Pick<Summary, "sinceMs" | "untilMs">): string {
  const days = Math.round((untilMs - sinceMs) / DAY_MS * 10) / 10;
  if (days === 1) return "all day";
  if (days === 7) return "all week";
  return days >= 28 && days <= 31 ? "all month" : `for ${describeDuration(untilMs - sinceMs)}`;
}

/** Returns the period, such as `2026-11-16 08:00 to 2026-11-23 08:00 (Europe/Zurich)`. */
export function describePeriod({ sinceMs, untilMs, timeZone }: Summary): string {
  const time = createPlainTime(timeZone);
  return `${time(sinceMs)} to ${time(untilMs)} (${timeZone})`;
}

export function sectionsOf(summary: Summary): readonly Section[] {
  const { outages, jobs, availability, slowest, flapping, certificates, rehearsals } = summary;
  const { stale, withoutData, removed, undelivered } = summary;
  const time = createPlainTime(summary.timeZone);
  const outage = (item: Outage): SectionItem =>
    toItem(item, describeOutage(item, time), item.end !== "recovered");
  return [
    section("Down", outages, outage),
    section("Jobs that failed or were overdue", jobs, outage),
    section("Common causes", summary.causes, ({ checks, sinceMs, text }) => ({
      ...{ name: countChecks(checks), facts: `since ${time(sinceMs)}: ${text}`, isBad: false },
    })),
    section(
      "Availability",
      availability,
      (item) => toItem(item, describeAvailability(item), isMissed(item.objective)),
    ),
    section(
      "Slowest checks",
      { items: slowest, count: slowest.length },
      (item) => toItem(item, describeSlow(item), false),
    ),
    section("Flapping", flapping, (item) => {
      const facts = `${item.changes} ${item.changes === 1 ? "change" : "changes"}`;
      return toItem(item, item.isFlapping ? `${facts}, still flapping` : facts, item.isFlapping);
    }),
    section("Certificates that expire soon", certificates, (item) => {
      const leftMs = item.expiresAtMs - summary.untilMs;
      const facts = leftMs < 0
        ? `expired on ${time(item.expiresAtMs)}`
        : `expires in ${describeDuration(leftMs)}, on ${time(item.expiresAtMs)}`;
      return toItem(item, facts, leftMs < 7 * DAY_MS);
    }),
    section("Rehearsals", rehearsals, (item) => {
      const facts = item.provenAtMs === null ? "never proven" : `last proven on ${time(item.provenAtMs)}`;
      return toItem(item, facts, !item.isProven);
    }),
    section("Unknown now", stale, (item) => toItem(item, item.reason, true)),
    section("Checks without data", withoutData, (item) => toItem(item, item.reason, true)),
    section("Not in the config", removed, (item) => {
      const facts = item.lastRunAtMs === null ? "never ran" : `not run since ${time(item.lastRunAtMs)}`;
      return toItem(item, facts, false);
    }),
    section("Notifications that were not delivered", undelivered, toUndelivered),
  ].filter(({ items }) => items.length > 0);
}

function section<T>(title: string, { items, count }: Bounded<T>, toItem: (item: T) => SectionItem): Section {
  const shown = items.slice(0, SHOWN_MAX);
  const rest = count - shown.length;
  return { title, items: shown.map(toItem), more: rest === 0 ? "" : `and ${rest} more` };
}

function toItem({ name, title }: NamedCheck, facts: string, isBad: boolean): SectionItem {
  const line = cleanLine(title ?? "", NAME_LENGTH_MAX);
  return { name: line === "" ? cleanLine(name, NAME_LENGTH_MAX) : line, facts, isBad };
}

function describeOutage({ fromMs, toMs, end, hasGap, output }: Outage, time: PlainTime): string {
  const lasted = `${describeDuration(toMs - fromMs)}${hasGap ? ", not all of it observed" : ""}`;
  const from = time(fromMs);
  const to = time(toMs);
  // The day is not repeated.
  const until = from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to;
  const span = {
    recovered: `${from} to ${until}, ${lasted}`,
    still_down: `since ${from}, ${lasted}, still down`,
    unobserved: `since ${from}, ${lasted}, no data since ${until}`,
  }[end];
  const said = cleanLine(output, OUTPUT_LENGTH_MAX);
  return said === "" ? span : `${span}: ${said}`;
}

const PLACES = 3;

function describeAvailability({ availability, downMs, objective }: CheckAvailability): string {
  const share = availability === null ? "no data" : `${percent(availability, PLACES)} up`;
  const down = downMs > 0 ? `, ${describeDuration(downMs)} down` : "";
  return `${share}${down}${objective === null ? "" : `; objective ${describeObjective(objective)}`}`;
}

/** By the p95; by the mean where that is not known of the period. */
function describeSlow({ percentiles, meanMs, maxMs, previousMeanMs, previousP95Ms }: SlowCheck): string {
  const most = `, ${milliseconds(maxMs)} at most`;
  if (percentiles === null) {
    return `${milliseconds(meanMs)} on average${compared(meanMs, previousMeanMs)}${most}`;
  }
  const { p50, p95 } = percentiles;
  return `p95 ${milliseconds(p95)}${compared(p95, previousP95Ms)}, p50 ${milliseconds(p50)}${most}`;
}

function compared(ms: number, previousMs: number | null): string {
  if (previousMs === null || previousMs === 0) return "";
  const change = Math.round((ms / previousMs - 1) * 100);
  return change === 0
    ? " (as before)"
    : ` (${change > 0 ? "+" : "−"}${Math.abs(change)}% to the period before)`;
}

function milliseconds(value: number): string {
  if (value < 1000) return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : describeDuration(value);
}

function toUndelivered({ channel, dropped, pending, reason }: Undelivered): SectionItem {
  const counts = [
    dropped === 0 ? "" : `${dropped} dropped`,
    pending === 0 ? "" : `${pending} pending`,
  ].filter((part) => part !== "").join(", ");
  const why = cleanLine(reason, OUTPUT_LENGTH_MAX);
  return {
    name: cleanLine(channel, NAME_LENGTH_MAX),
    facts: why === "" ? counts : `${counts}: ${why}`,
    isBad: true,
  };
}

/** Renders a summary as plain text: lines ended by line feeds. */
export function summaryText(summary: Summary): string {
  const head = [
    `${sentenceOf(summary)}.`,
    "",
    describePeriod(summary),
    `Host: ${summary.hostName}`,
    ...summary.notes,
  ];
  const lines = sectionsOf(summary).flatMap(({ title, items, more }) => [
    "",
    title,
    ...items.map(({ name, facts }) => `- ${name}: ${facts}`),
    ...more === "" ? [] : [`- ${more}`],
  ]);
  return [...head, ...lines].map((line) => `${line}\n`).join("");
}
