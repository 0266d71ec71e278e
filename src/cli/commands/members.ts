import { type Command, EXIT, OPTION } from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { describeDuration } from "../../domain/duration.ts";
import { isLiveMember, type MemberStatus } from "../../domain/membership.ts";
import { activeConfig } from "../../members/observer.ts";
import { hostOf, placesOf } from "../../members/rendezvous.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import { openKnownConfig } from "../known_config.ts";
import type { OpenConfig } from "../open_config.ts";
import { readSharedState } from "../open_state.ts";
import type { Check } from "../../domain/check.ts";
import type { ControlRequest } from "../check/control.ts";

export const membersCommand: Command = {
  name: "members",
  group: "plumbing",
  summary: "show the monitors that share a state",
  description:
    "Shows each member of a state in PostgreSQL: whether it is live, its last heartbeat, its location, whether it has the config " +
    "of most members, its share of the checks, and for how many channels it sends.",
  page: "guides/several_machines.md",
  options: [OPTION.config, OPTION.state, OPTION.format],
  examples: [
    ["monitor members", "show the members"],
    ["monitor members --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "state", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.reportFormat();
    const { config, place } = await openKnownConfig(invocation, system);
    const store = await readSharedState(place, system);
    const members = await store?.members() ?? [];
    await store?.close();
    const fields = fieldsOf(members, config);
    system.stdout.write(format === "json" ? jsonDocument(fields) : renderMembers(fields));
    return EXIT.ok;
  },
};

type MemberFields = ReturnType<typeof fieldsOf>[number];

/** A single run has no config; `other`: most members have another one. Without checks it runs none, or the config has errors. */
function fieldsOf(members: readonly MemberStatus[], config: OpenConfig | null) {
  const active = activeConfig(configured(members));
  const shares = sharesOf(members, config);
  return members.map((member) => ({
    member: member.host,
    live: isLiveMember(member),
    last_heartbeat_ms_ago: Math.round(member.silentForMs),
    config: member.config === "" ? "none" : member.config === active ? "active" : "other",
    location: member.location,
    checks: shares.get(member.host) ?? null,
    channels: member.channelKeys.length,
  }));
}

/** Returns the number of checks of each member that runs some, by its name; none for a config with errors. */
function sharesOf(members: readonly MemberStatus[], config: OpenConfig | null): ReadonlyMap<string, number> {
  if (config === null) return new Map();
  const hosts = activeHosts(members);
  const shares = new Map(hosts.map((host) => [host, 0]));
  for (const place of placesOf(config.checks.filter(({ active }) => active)).values()) {
    const host = hostOf(place, hosts);
    if (host !== null) shares.set(host, (shares.get(host) ?? 0) + 1);
  }
  return shares;
}

function renderMembers(members: readonly MemberFields[]): string {
  if (members.length === 0) return "no members: no monitor shares a state in PostgreSQL\n";
  const columns = Math.max(...members.map(({ member }) => textWidth(printable(member))));
  return members.map((one) => `${pad(printable(one.member), columns)}  ${describeMember(one)}\n`).join("");
}

function describeMember({ live, last_heartbeat_ms_ago, config, location, checks, channels }: MemberFields) {
  if (!live) return `dead, last heartbeat ${describeDuration(last_heartbeat_ms_ago)} ago`;
  const place = location === null ? "live" : `live at ${location}`;
  if (config === "none") return `${place}, a single run or leaving`;
  if (config === "other") return `${place}, has another config than most: runs no checks`;
  const share = checks === null ? "" : `, ${counted(checks, "check")}`;
  return `${place}${share}, sends for ${counted(channels, "channel")}`;
}

/** The members to contact instead of a socket, as they may run on other machines; `null`: none runs. */
export function describeShared(
  request: ControlRequest,
  members: readonly MemberStatus[],
  checks: readonly Check[],
): string | null {
  const hosts = activeHosts(members);
  if (hosts.length === 0) return null;
  const [name = ""] = request.command === "run" ? request.names : [];
  const check = checks.find((check) => check.name === name);
  const place = placesOf(checks.filter(({ active }) => active)).get(name);
  const owner = place === undefined || check?.locations !== undefined ? null : hostOf(place, hosts);
  if (owner !== null) return `no control socket with a shared state: "${name}" runs at member "${owner}"`;
  const listed = hosts.map((host) => `"${host}"`).join(", ");
  return `no control socket with a shared state: use SIGHUP on the members ${listed}`;
}

/** Returns the members that run checks, by their heartbeats: live ones with the config of most members. */
function activeHosts(members: readonly MemberStatus[]): readonly string[] {
  const live = configured(members);
  const active = activeConfig(live);
  return live.filter(({ config }) => config === active).map(({ host }) => host);
}

function configured(members: readonly MemberStatus[]): readonly MemberStatus[] {
  return members.filter((member) => isLiveMember(member) && member.config !== "");
}
