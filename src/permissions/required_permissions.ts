/** What checks, their channels and the heartbeat of a config must be permitted, and what of it is. */
import { channelEntryOf } from "../channels/registry.ts";
import { entriesOf } from "../checks/registry.ts";
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Heartbeat } from "../domain/heartbeat.ts";
import {
  type Needs,
  needsOfUrl,
  NET_ALL,
  PERMISSION_CLASSES,
  type PermissionClass,
} from "../domain/needs.ts";
import type { Permissions } from "../domain/permissions.ts";
import type { System } from "../domain/system.ts";

/** One thing that must be permitted. */
export interface Need {
  readonly permission: PermissionClass;
  /** What of the class: a path, a host with its port, a name. */
  readonly value: string;
  /** What needs it first, such as `check "web"`. */
  readonly neededBy: string;
  /** Whether nothing can run without it; otherwise only what needs it cannot. @default false */
  readonly isVital?: boolean;
  /** What to know about it before using it. */
  readonly caution?: string;
  /** Whether it holds for this machine only. @default false */
  readonly isOfMachine?: boolean;
}

/** The parts of a config that need something. */
interface NeedyConfig {
  readonly checks: readonly Check[];
  /** `null`: none. */
  readonly heartbeat: Heartbeat | null;
  readonly notifies: boolean;
  /** Named channels that are called in addition. @default none */
  readonly channels?: readonly Channel[];
}

/**
 * What a config needs, each thing once, in the config's order. Nobody knows what a check or a channel needs that
 * lacks something, and it does nothing.
 */
export async function needsOf(config: NeedyConfig, system: System): Promise<readonly Need[]> {
  const parts: { readonly neededBy: string; readonly needs: Needs }[] = [];
  const channels = new Set<string>();
  const entryOf = await entriesOf(config.checks);
  for (const check of config.checks) {
    if (check.lack === undefined) {
      parts.push({ neededBy: `check "${check.name}"`, needs: await entryOf(check).needs(check, system) });
    }
    for (const channel of config.notifies ? check.notifications : []) {
      if (channel.lack !== undefined || channels.has(channel.key)) continue;
      channels.add(channel.key);
      parts.push(await partOfChannel(channel, `${channel.kind} of check "${check.name}"`, system));
    }
  }
  for (const channel of config.channels ?? []) {
    if (channel.lack === undefined) parts.push(await partOfChannel(channel, channel.kind, system));
  }
  if (config.heartbeat !== null) {
    parts.push({ neededBy: "heartbeat", needs: needsOfHeartbeat(config.heartbeat) });
  }
  const { killPath } = system.permissions;
  const starter = parts.find(({ needs }) => (needs.run?.length ?? 0) > 0);
  if (starter !== undefined && killPath !== null) {
    parts.push({ neededBy: `ending what ${starter.neededBy} starts`, needs: { run: [killPath] } });
  }
  return joinNeeds(parts);
}

/** Lists what several parts need, each thing once. */
export function joinNeeds(
  parts: readonly { readonly neededBy: string; readonly needs: Needs }[],
): readonly Need[] {
  const found = new Map<string, Need>();
  for (const { neededBy, needs } of parts) {
    for (const permission of PERMISSION_CLASSES) {
      for (const value of needs[permission] ?? []) {
        const key = `${permission} ${value}`;
        if (found.has(key)) continue;
        found.set(key, { permission, value, neededBy, ...permission === "net" && aboutNet(needs) });
      }
    }
  }
  return [...found.values()];
}

function aboutNet({ netCaution, isOfMachine }: Needs): Pick<Need, "caution" | "isOfMachine"> {
  return {
    ...netCaution !== undefined && { caution: netCaution },
    ...isOfMachine !== undefined && { isOfMachine },
  };
}

/** What is needed and not granted. */
export function missingNeeds(needs: readonly Need[], permissions: Permissions): readonly Need[] {
  const isWhole = new Map(
    PERMISSION_CLASSES.map((permission) => [permission, permissions.isGranted(permission)]),
  );
  return needs.filter(({ permission, value }) =>
    !isWhole.get(permission) && (value === NET_ALL || !permissions.isGranted(permission, value))
  );
}

async function partOfChannel(
  channel: Channel,
  inlineName: string,
  system: System,
): Promise<{ readonly neededBy: string; readonly needs: Needs }> {
  return {
    neededBy: channel.name === undefined ? inlineName : `channel "${channel.name}"`,
    needs: await channelEntryOf(channel).needs(channel, system),
  };
}

function needsOfHeartbeat({ path, target }: Heartbeat): Needs {
  return {
    ...(path !== undefined && { write: [path] }),
    ...(target !== undefined && needsOfUrl(target)),
  };
}
