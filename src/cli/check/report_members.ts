import type { Report } from "../../domain/report.ts";
import { isoTime } from "../formats/check_members.ts";

/** A report as a machine reads it; members are only ever added, and their order is part of it. */
export function reportMembers(report: Report): Readonly<Record<string, string | number | null>> {
  return {
    name: report.check,
    title: report.title,
    event: report.event,
    condition: report.condition,
    previous: report.previous,
    output: report.output,
    detail: report.detail,
    problem_began_at: isoTime(report.problemBeganAtMs),
    decided_at: isoTime(report.decidedAtMs),
    occurrences: report.occurrences,
    next_run_at: isoTime(report.nextRunAtMs),
  };
}
