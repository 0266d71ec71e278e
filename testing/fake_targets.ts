import type { IncomingResponse, Requests } from "../src/domain/requests.ts";
import type { System } from "../src/domain/system.ts";
import { explainRequestError } from "../src/system/http/request_failure.ts";
import type { FakeClock } from "./fake_clock.ts";
import { createMemorySystem } from "./memory_system.ts";

/** What a played target does with one request. */
export interface FakeResponse {
  readonly status: number;
  /** On the fake clock. */
  readonly afterMs: number;
}

/**
 * A system on a fake clock whose HTTP targets a test plays, and which tells when a request has been answered or
 * ended; everything else is the real machine.
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
          headers: new Headers(),
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
