import { CHANNEL_KINDS } from "../../channels/registry.ts";
import type { Check } from "../../domain/check.ts";
import type { Report } from "../../domain/report.ts";

/** Hands a report to the channels of its check. */
export function deliver(report: Report, check: Check, writeLine: (line: string) => void): void {
  for (const channel of check.notifications) CHANNEL_KINDS[channel.kind]?.deliver(report, { writeLine });
}

/** The channel kinds that some checks name and that nothing is delivered to. */
export function undeliveredKinds(checks: readonly Check[]): readonly string[] {
  const kinds = checks.flatMap((check) => check.notifications.map((channel) => channel.kind));
  return [...new Set(kinds)].filter((kind) => CHANNEL_KINDS[kind] === undefined);
}
