import type { Check } from "../../domain/check.ts";
import { ListenError } from "../../domain/http_servers.ts";
import type { ListenSettings } from "../../domain/listen_settings.ts";
import type { Log } from "../../domain/log.ts";
import type { System } from "../../domain/system.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { MetricsPublisher } from "../metrics/publish_metrics.ts";
import type { Endpoint, EndpointConfig } from "./endpoint.ts";

/** Where the endpoint gets what it shows. */
export interface EndpointSources {
  readonly system: System;
  readonly log: Log;
  readonly repository: StateRepository;
  /** Whether a state is stored, so that jobs can check in. */
  readonly hasState: boolean;
  readonly scheduler: Pick<Scheduler, "isAdvancing">;
  readonly metrics: Pick<MetricsPublisher, "render">;
  select(checks: readonly Check[]): readonly Check[];
  readonly isWhole: boolean;
  /** The endpoint that a config asks for; `null`: none. */
  listenOf(config: LoadedConfig): ListenSettings | null;
  /** Called with a bug. */
  onBug(error: unknown): void;
}

/** The endpoint of a service, there or not. */
interface EndpointSwitch {
  adopt(config: LoadedConfig): void;
  /** Stops to listen. */
  end(): Promise<void>;
}

/**
 * Starts the endpoint that a config asks for, if any. Its modules are read only then. Rejects with a {@linkcode ListenError}
 * if it can't listen; at a reload that is logged.
 */
export async function startEndpoint(config: LoadedConfig, sources: EndpointSources): Promise<EndpointSwitch> {
  let endpoint: Endpoint | null = null;
  const change = async (next: LoadedConfig): Promise<void> => {
    const listen = sources.listenOf(next);
    if (listen === null) {
      await endpoint?.close();
      endpoint = null;
      return;
    }
    const wanted: EndpointConfig = { config: next, listen };
    if (endpoint !== null) return await endpoint.adopt(wanted);
    const { Endpoint } = await import("./endpoint.ts");
    endpoint = await Endpoint.start(wanted, sources);
  };
  await change(config);
  let changing: Promise<void> = Promise.resolve();
  return {
    adopt: (next) => {
      changing = changing.then(() => change(next)).catch((error) => {
        if (error instanceof ListenError) return sources.log.error(error.message);
        sources.onBug(error);
      });
    },
    end: async () => {
      await changing;
      await endpoint?.close();
    },
  };
}
