import type { Check } from "../../domain/check.ts";
import type { Listen } from "../../domain/generated/config.ts";
import type { Log } from "../../domain/log.ts";
import type { System } from "../../domain/system.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { MetricsPublisher } from "../metrics/publish_metrics.ts";

export interface EndpointSources {
  readonly system: System;
  readonly log: Log;
  readonly repository: StateRepository;
  /** Whether a state is stored, so that jobs can check in. */
  readonly hasState: boolean;
  readonly scheduler: Pick<Scheduler, "isAdvancing" | "request">;
  readonly metrics: Pick<MetricsPublisher, "render">;
  /** The checks that run here, of the config's. */
  select(checks: readonly Check[]): readonly Check[];
  /** Whether these are all of them. */
  readonly isWhole: boolean;
  /** The endpoint that a config asks for; `null`: none. */
  listenOf(config: LoadedConfig): Listen | null;
  onBug(error: unknown): void;
}

export interface EndpointConfig {
  readonly config: LoadedConfig;
  readonly listen: Listen;
}
