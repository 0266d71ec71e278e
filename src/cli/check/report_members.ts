import type { Report } from "../../domain/report.ts";

/** A report as a machine reads it; members are only ever added. */
export function reportMembers(report: Report): Readonly<Record<string, string | number | null>> {
  return {
    check: report.check,
    title: report.title,
    kind: report.event,
    condition: report.condition,
    previous: report.previous,
    output: report.output,
    detail: report.detail,
    problem_began_at: new Date(report.problemBeganAtMs).toISOString(),
    decided_at: new Date(report.decidedAtMs).toISOString(),
    occurrences: report.occurrences,
    next_run_at: new Date(report.nextRunAtMs).toISOString(),
  };
}
