/** Outputs that run only while the config asks for them; their code is loaded only then. */
import { ListenError } from "../domain/http_servers.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { EndpointSources } from "./http_endpoint/views.ts";
import type { ExportSources } from "./opentelemetry/opentelemetry_export.ts";

/** Rejects with a {@linkcode ListenError} if it can't listen; at a reload that is logged. */
export async function startEndpoint(config: LoadedConfig, sources: EndpointSources): Promise<OptionalOutput> {
  return await startOptional(config, {
    wantedOf: (config: LoadedConfig) => {
      const listen = sources.listenOf(config);
      return listen && { config, listen };
    },
    start: async (wanted) => {
      const { Endpoint } = await import("./http_endpoint/endpoint.ts");
      return await Endpoint.start(wanted, sources);
    },
    onError: (error) =>
      error instanceof ListenError ? sources.log.error(error.message) : sources.onBug(error),
  });
}

type Exported = Pick<LoadedConfig, "opentelemetry" | "redact">;

export async function startOpenTelemetry(
  config: Exported,
  sources: ExportSources,
): Promise<OptionalOutput<Exported>> {
  return await startOptional(config, {
    wantedOf: ({ opentelemetry, redact }: Exported) => opentelemetry && { opentelemetry, redact },
    start: async (wanted) => {
      const { OpenTelemetryExport } = await import("./opentelemetry/opentelemetry_export.ts");
      return new OpenTelemetryExport(wanted, sources);
    },
    onError: sources.onBug,
  });
}

interface OptionalOutput<Config = LoadedConfig> {
  adopt(config: Config): void;
  /** Sends what a stopped service still has. */
  stopped(): Promise<void>;
  end(): Promise<void>;
}

interface RunningOutput<Wanted> {
  adopt(wanted: Wanted): void | Promise<void>;
  stopped?(): Promise<void>;
  end(): void | Promise<void>;
}

async function startOptional<Config, Wanted>(
  config: Config,
  { wantedOf, start, onError }: {
    /** What a config asks for; `null`: nothing. */
    wantedOf(config: Config): Wanted | null;
    start(wanted: Wanted): Promise<RunningOutput<Wanted>>;
    onError(error: unknown): void;
  },
): Promise<OptionalOutput<Config>> {
  let running: RunningOutput<Wanted> | null = null;
  const change = async (next: Config): Promise<void> => {
    const wanted = wantedOf(next);
    if (wanted === null) {
      await running?.end();
      running = null;
    } else if (running === null) running = await start(wanted);
    else await running.adopt(wanted);
  };
  await change(config);
  let changing: Promise<void> = Promise.resolve();
  return {
    adopt: (next) => {
      changing = changing.then(() => change(next)).catch(onError);
    },
    stopped: async () => {
      await changing;
      await running?.stopped?.();
    },
    end: async () => {
      await changing;
      await running?.end();
    },
  };
}
