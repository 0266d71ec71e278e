import { isLiveMember, type MemberStatus } from "../domain/membership.ts";
import { activeConfig } from "../members/active_config.ts";

/** Returns the members that run checks, by their heartbeats: live ones with the config of most members. */
export function activeHosts(members: readonly MemberStatus[]): readonly string[] {
  const live = members.filter((member) => isLiveMember(member) && member.config !== "");
  const active = activeConfig(live, null);
  return live.filter(({ config }) => config === active).map(({ host }) => host);
}
