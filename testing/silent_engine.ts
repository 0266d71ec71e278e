import { Engine } from "../src/engine/engine.ts";
import type { StateRepository } from "../src/state/state_repository.ts";

/** Returns an engine that calls no channel: it decides on conditions alone. */
export function createSilentEngine(repository: StateRepository): Engine {
  return new Engine([], {
    repository,
    sender: null,
    newId: () => crypto.randomUUID(),
    hostName: "test-host",
  });
}
