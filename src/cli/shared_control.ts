import type { Check } from "../domain/check.ts";
import { isLiveMember, type MemberStatus } from "../domain/membership.ts";
import { hostOf, placesOf } from "../members/rendezvous.ts";
import { activeConfig } from "../members/active_config.ts";
import type { ControlRequest } from "./check/control.ts";

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
export function activeHosts(members: readonly MemberStatus[]): readonly string[] {
  const live = members.filter((member) => isLiveMember(member) && member.config !== "");
  const active = activeConfig(live, null);
  return live.filter(({ config }) => config === active).map(({ host }) => host);
}
