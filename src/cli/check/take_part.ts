/**
 * A service as one of several members that share a state, and a single run that sends its notifications. If members run
 * as services, they send. If not, one single run at a time owns each channel queue. Only a shared state loads this.
 */
import { type NotifyingConfig, toNotifyingConfig } from "../../engine/configured_channels.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { Log, System } from "../../domain/system.ts";
import { Member } from "../../members/member.ts";
import type { MemberEvent, MemberWork } from "../../members/member_parts.ts";
import type { ScheduledConfig } from "../../scheduler/scheduler.ts";
import { hashHex } from "../../shared/hash.ts";
import { configHash } from "../monitor_status.ts";
import type { OpenConfig, Selection } from "../open_config.ts";
import { StateHeldError } from "../failure.ts";
import { pause } from "../../shared/deadline.ts";
import type { SenderOptions } from "../../engine/sender.ts";
import { SharedSender } from "../../members/shared_sender.ts";

interface TakePartOptions {
  readonly shared: SharedState;
  /** The name of this member; `null`: the host's. */
  readonly name: string | null;
  readonly location: string | null;
  readonly system: Pick<System, "clock" | "hostName" | "randomId">;
  readonly work: MemberWork;
  readonly log: Log;
  fail(error: unknown): void;
}

export function takePart({ shared, name, location, system, work, log, fail }: TakePartOptions): Member {
  const host = name ?? system.hostName();
  const superseded = `cannot use the state: a newer monitor has the same member name, "${host}"`;
  return new Member({
    ...{ host, id: system.randomId(), location, work },
    failOpenAfterMs: shared.failOpenAfterMs,
    heartbeats: shared.openHeartbeats(),
    store: shared.store,
    clock: system.clock,
    onEvent: (event) => logMemberEvent(event, log),
    onSuperseded: () => fail(new StateHeldError(superseded, "run one monitor a host, or set --member NAME")),
    onBug: fail,
  });
}

/** Returns the work of members from a config. Members with other options do not share work. */
export function toWork(
  config: OpenConfig,
  checks: ScheduledConfig["checks"],
  { selection, notifies, listens }: {
    readonly selection: Selection;
    readonly notifies: boolean;
    /** Whether it serves pages with every check. */
    readonly listens: boolean;
  },
): MemberWork {
  return {
    configHash: hashHex(JSON.stringify([configHash(config), selection, notifies]), 32),
    checks,
    channelKeys: channelKeysOf(toNotifyingConfig(config)),
    showsAll: config.report !== null || config.metrics !== null || listens,
  };
}

function channelKeysOf({ users, named }: Pick<NotifyingConfig, "users" | "named">): readonly string[] {
  const channels = [...users.flatMap(({ notifications }) => notifications), ...named];
  return [...new Set(channels.map(({ key }) => key))];
}

function logMemberEvent(event: MemberEvent, log: Log): void {
  if (event.event === "config") {
    return event.isActive
      ? log.info("the config of this member is active: running its checks")
      : log.warning("most members have another config: running no checks; install the same config on each");
  }
  if (event.event === "fail_open") {
    return event.isOpen
      ? log.error("shared state unreachable: sending notifications of own checks without it")
      : log.info("shared state reachable again: what was sent counts as sent");
  }
  if (event.event === "joined") log.info(`member "${event.host}" joined: sharing the work`);
  else log.warning(`member "${event.host}" left or died: taking over its work`);
}

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

class Guest {
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
