import type { IncomingResponse, Requests } from "../src/domain/connections.ts";
import type { System } from "../src/domain/system.ts";
import { explainRequestError } from "../src/system/network_failure.ts";
import type { FakeClock } from "./fake_clock.ts";
import { createMemorySystem } from "./memory_system.ts";

/** The response of a fake target to one request. */
export interface FakeResponse {
  readonly status: number;
  /** On the fake clock. */
  readonly afterMs: number;
}

/**
 * Creates a system on a fake clock with fake HTTP targets, which reports when a request has completed or was aborted;
 * everything else is the real machine.
 */
export function createFakeTargets(
  clock: FakeClock,
  respond: (target: string, nowMs: number) => FakeResponse | "hang",
  ended: (target: string) => void = () => {},
): System {
  const requests: Requests = {
    send: ({ target }, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingResponse>();
      const answer = respond(target, clock.monotonicMs());
      const cancel = answer === "hang" ? () => {} : clock.after(answer.afterMs, () => {
        resolve({
          status: answer.status,
          headers: () => new Headers(),
          header: () => null,
          read: () => Promise.resolve(null),
          close: () => Promise.resolve(),
        });
      });
      signal.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
      promise.catch(() => {}).finally(() => ended(target));
      return promise;
    },
    explain: explainRequestError,
  };
  return { ...createMemorySystem(), clock, requests };
}
