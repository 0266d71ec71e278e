/** A service as one of several members that share a state. Only a shared state loads this. */
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

export function channelKeysOf(
  { users, named }: Pick<NotifyingConfig, "users" | "named">,
): readonly string[] {
  const channels = [...users.flatMap(({ notifications }) => notifications), ...named];
  return [...new Set(channels.map(({ key }) => key))];
}

function logMemberEvent(event: MemberEvent, log: Log): void {
  switch (event.event) {
    case "joined":
      return log.info(`member "${event.host}" joined: sharing the work`);
    case "left":
      return log.warning(`member "${event.host}" left or died: taking over its work`);
    case "config":
      return event.isActive
        ? log.info("the config of this member is active: running its checks")
        : log.warning("most members have another config: running no checks; install the same config on each");
    case "fail_open":
      return event.isOpen
        ? log.error("shared state unreachable: sending notifications of own checks without it")
        : log.info("shared state reachable again: what was sent counts as sent");
  }
}
