import type { Opentelemetry } from "../../domain/generated/config.ts";
import type { System } from "../../domain/system.ts";
import { afterColon } from "../../channels/clean_text.ts";
import { addMetrics, type MetricValues } from "../metrics/render_metrics.ts";
import { createOtlpMetrics, metricsRequest, type Resource } from "./otlp_json.ts";
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
  const { settings, system, version, instance } = options;
  const hostName = system.hostName();
  const resource: Resource = {
    serviceName: settings.serviceName,
    version,
    hostName,
    instance: instance ?? hostName,
  };
  const exposition = createOtlpMetrics(system.clock.wallMs(), values.name);
  const outcomes: OtlpOutcome[] = [];
  let sent = 0;
  const sendPart = async (): Promise<void> => {
    const { metrics, points } = exposition.take();
    if (outcomes.some(({ accepted }) => !accepted)) return;
    const body = metricsRequest(resource, metrics);
    outcomes.push(await sendOtlp({ signal: "metrics", body, count: points }, options));
    sent += points;
  };
  await addMetrics(exposition, values, sendPart);
  await sendPart();
  return endOf(outcomes, `${sent} metric points`);
}

function endOf(outcomes: readonly OtlpOutcome[], sent: string): ExportEnd {
  let rejected = 0;
  let reason = "";
  for (const outcome of outcomes) {
    if (!outcome.accepted) {
      return {
        failure: `cannot export to OpenTelemetry: ${outcome.reason}`,
        waitMs: outcome.retryAfterMs ?? 0,
      };
    }
    rejected += outcome.rejected;
    if (reason === "") reason = outcome.reason;
  }
  const failure = rejected === 0
    ? null
    : `the OpenTelemetry collector rejected ${rejected} of ${sent}${afterColon(reason)}`;
  return { failure, waitMs: 0 };
}
