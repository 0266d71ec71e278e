/**
 * How a single run sends notifications of a state that several processes share. If members run as services, they send.
 * If not, one single run at a time owns each channel queue.
 */
import { pause } from "../../shared/deadline.ts";
import type { Notifying } from "../../alerting/notifying.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { System } from "../../domain/system.ts";
import { createMember, type Member } from "../../members/member.ts";
import type { OpenConfig } from "../open_config.ts";
import { channelKeysOf } from "./take_part.ts";

interface GuestOptions {
  readonly shared: SharedState;
  readonly system: Pick<System, "clock" | "hostName" | "randomId">;
  readonly config: Pick<OpenConfig, "checks" | "summary" | "channels">;
  /** Asked once it has joined. */
  notifying(): Notifying;
  onBug(error: unknown): void;
}

/** Creates the member for a single run: one that runs no checks for others. */
export function createGuest({ shared, system, config, notifying, onBug }: GuestOptions): Member {
  const id = system.randomId();
  return createMember({
    host: `${system.hostName()} once ${id}`,
    id,
    location: null,
    isGuest: true,
    work: { configHash: "", checks: [], channelKeys: channelKeysOf(config), showsAll: false },
    failOpenAfterMs: Infinity,
    heartbeats: shared.openHeartbeats(),
    store: shared.store,
    clock: system.clock,
    follower: {
      flush: () => Promise.resolve(),
      load: () => {},
      know: (checks, read) => notifying().know(checks, read),
      spread: () => {},
      spreadLocation: () => {},
      look: () => {},
      take: (taken) => notifying().take(taken),
      receive: (received) => notifying().receive(received),
      release: (channelKey) => notifying().release(channelKey),
      silence: (silences) => notifying().silence(silences),
      failOpen: () => {},
      leaveOthers: () => Promise.resolve(),
      failClosed: () => Promise.resolve(true),
      attemptTimeoutMs: (channelKey) => notifying().attemptTimeoutMs(channelKey),
    },
    onEvent: () => {},
    onSuperseded: () => {},
    onBug,
  });
}

interface SendOptions {
  readonly shared: SharedState;
  readonly guest: Member;
  readonly notifying: Notifying;
  readonly clock: System["clock"];
  readonly deadlineMs: number;
}

const LOOK_EVERY_MS = 200;

/**
 * Tries each pending notification once, and each rejected one that is due, unless members that run as services send
 * them.
 */
export async function sendShared(
  { shared, guest, notifying, clock, deadlineMs }: SendOptions,
): Promise<void> {
  const isPending = async (): Promise<boolean> =>
    (await shared.store.outbox()).notifications.some(({ state, channelKey }) =>
      state !== "dropped" && notifying.channelNames.has(channelKey)
    );
  if (!await isPending()) return;
  await guest.join();
  while (clock.wallMs() < deadlineMs && !guest.isSharedByOthers) {
    await pause(clock, LOOK_EVERY_MS);
    await notifying.drain(deadlineMs);
    const { pending } = notifying;
    const isTried = pending.every(({ lastFailure, channelKey }) =>
      lastFailure !== null || notifying.limitedUntilMs(channelKey) !== null
    );
    if (pending.length > 0 && isTried) return;
    if (pending.length === 0 && !await isPending()) return;
  }
}
