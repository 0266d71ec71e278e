import type { LoadedConfig } from "../../config/load.ts";
import type { ExportSources, OpenTelemetryExport } from "./opentelemetry_export.ts";

type Configured = Pick<LoadedConfig, "opentelemetry" | "redact">;

interface OpenTelemetrySwitch {
  adopt(config: Configured): void;
  stopped(): Promise<void>;
  end(): Promise<void>;
}

/** Exports what the config asks for; the code is loaded only then. */
export async function startOpenTelemetry(
  config: Configured,
  sources: ExportSources,
): Promise<OpenTelemetrySwitch> {
  let running: OpenTelemetryExport | null = null;
  const change = async ({ opentelemetry, redact }: Configured): Promise<void> => {
    if (opentelemetry === null) {
      running?.end();
      running = null;
      return;
    }
    const wanted = { opentelemetry, redact };
    if (running !== null) return running.adopt(wanted);
    const { OpenTelemetryExport } = await import("./opentelemetry_export.ts");
    running = new OpenTelemetryExport(wanted, sources);
  };
  await change(config);
  let changing: Promise<void> = Promise.resolve();
  return {
    adopt: (next) => {
      changing = changing.then(() => change(next)).catch(sources.onBug);
    },
    stopped: async () => {
      await changing;
      await running?.stopped();
    },
    end: async () => {
      await changing;
      running?.end();
    },
  };
}
