import type { Opentelemetry } from "../../domain/generated/config.ts";
import type { System } from "../../domain/system.ts";
import { afterColon } from "../../channels/clean_text.ts";
import { addMetrics, type MetricValues } from "../metrics/render_metrics.ts";
import { createOtlpMetrics, requestText, type Resource } from "./otlp_json.ts";
import { type OtlpOutcome, sendOtlp } from "./send_otlp.ts";

export interface ExportOptions {
  readonly settings: Opentelemetry;
  readonly system: Pick<System, "clock" | "requests" | "hostName">;
  readonly version: string;
  /** The name of this process among those of the service; `null`: the host's. */
  readonly instance: string | null;
  readonly abort: AbortSignal;
}

export interface ExportEnd {
  /** Describes why some of it was not accepted, not redacted; `null`: all of it was. */
  readonly failure: string | null;
  /** The delay that the collector asks for; 0: none. */
  readonly waitMs: number;
}

/**
 * Sends the values in several requests, since collectors limit the size of one. After a failure, the others are not
 * sent. Throws the signal's reason only.
 */
export async function exportMetrics(values: MetricValues, options: ExportOptions): Promise<ExportEnd> {
  const resource = resourceOf(options);
  const exposition = createOtlpMetrics(options.system.clock.wallMs(), values.name);
  let outcome = NOTHING_REJECTED;
  let sent = 0;
  const sendPart = async (): Promise<void> => {
    const { metrics, points } = exposition.take();
    if (!outcome.accepted) return;
    const { rejected, reason } = outcome;
    const next = await sendOtlp(
      { signal: "metrics", body: requestText("Metrics", resource, metrics), count: points },
      options,
    );
    sent += points;
    outcome = next.accepted
      ? { accepted: true, rejected: rejected + next.rejected, reason: reason === "" ? next.reason : reason }
      : next;
  };
  await addMetrics(exposition, values, sendPart);
  await sendPart();
  return {
    failure: describeOutcome(outcome, { what: "metrics", sent: `${sent} metric points` }),
    waitMs: outcome.accepted ? 0 : outcome.retryAfterMs ?? 0,
  };
}

const NOTHING_REJECTED = { accepted: true, rejected: 0, reason: "" } as OtlpOutcome;

export function resourceOf(
  { settings: { serviceName }, system, version, instance }: ExportOptions,
): Resource {
  const hostName = system.hostName();
  return { serviceName, version, hostName, instance: instance ?? hostName };
}

/** Describes why a collector did not accept all that was sent; `null`: it did. */
export function describeOutcome(
  outcome: OtlpOutcome,
  { what, sent }: { readonly what: string; readonly sent: string },
): string | null {
  if (!outcome.accepted) return `cannot export ${what} to OpenTelemetry: ${outcome.reason}`;
  const { rejected, reason } = outcome;
  return rejected === 0
    ? null
    : `the OpenTelemetry collector rejected ${rejected} of ${sent}${afterColon(reason)}`;
}
