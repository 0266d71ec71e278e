/**
 * How a single run sends notifications of a state that several processes share. If members run as services, they send.
 * If not, one single run at a time owns each channel queue.
 */
import { pause } from "../../shared/deadline.ts";
import type { NotifyingConfig } from "../../engine/configured_channels.ts";
import type { SenderOptions } from "../../engine/sender.ts";
import type { SharedState } from "../../domain/membership.ts";
import { Member } from "../../members/member.ts";
import { SharedSender } from "../../members/shared_sender.ts";
import type { OpenConfig } from "../open_config.ts";
import { channelKeysOf } from "./take_part.ts";

interface GuestOptions extends SenderOptions {
  readonly shared: SharedState;
  readonly config: Pick<OpenConfig, "checks">;
}

const LOOK_EVERY_MS = 200;

/** Starts the sender of a single run, a member that runs no checks for others. */
export async function startGuest(sending: NotifyingConfig, options: GuestOptions): Promise<Guest> {
  const { shared: { store }, system, config } = options;
  const guest = new Guest(sending, options);
  guest.sender.silence(await store.silences(system.clock.wallMs()));
  await guest.sender.know(config.checks.map(({ name }) => name), store.known);
  return guest;
}

export class Guest {
  readonly sender: SharedSender;
  readonly #options: GuestOptions;
  readonly #member: Member;

  constructor(sending: NotifyingConfig, options: GuestOptions) {
    const { shared, system, onBug } = options;
    const id = system.randomId();
    this.#options = options;
    this.#member = new Member({
      host: `${system.hostName()} once ${id}`,
      id,
      location: null,
      isGuest: true,
      work: { configHash: "", checks: [], channelKeys: channelKeysOf(sending), showsAll: false },
      failOpenAfterMs: Infinity,
      heartbeats: shared.openHeartbeats(),
      store: shared.store,
      clock: system.clock,
      onEvent: () => {},
      onSuperseded: () => {},
      onBug,
    });
    this.sender = new SharedSender(sending, { ...options, member: this.#member });
  }

  /**
   * Tries each pending notification once, and each rejected one that is due, unless members that run as services send
   * them.
   */
  async drain(deadlineMs: number): Promise<void> {
    const { sender } = this;
    const { repository, system: { clock } } = this.#options;
    if (!await this.#isPending()) return;
    await this.#member.join({ repository, sender, scheduler: null, located: null, reports: null });
    while (clock.wallMs() < deadlineMs && !this.#member.isSharedByOthers) {
      await pause(clock, LOOK_EVERY_MS);
      await sender.drain(deadlineMs);
      const { pending } = sender;
      const isTried = pending.every(({ lastFailure, channelKey }) =>
        lastFailure !== null || sender.limitedUntilMs(channelKey) !== null
      );
      if (pending.length > 0 && isTried) return;
      if (pending.length === 0 && !await this.#isPending()) return;
    }
  }

  async leave(): Promise<void> {
    await this.#member.leave();
  }

  async #isPending(): Promise<boolean> {
    const { notifications } = await this.#options.shared.store.outbox();
    return notifications.some(({ state, channelKey }) =>
      state !== "dropped" && this.sender.channelNames.has(channelKey)
    );
  }
}
