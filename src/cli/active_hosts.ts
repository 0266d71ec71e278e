import { isLiveMember, type MemberStatus } from "../domain/membership.ts";
import { activeConfig } from "../members/active_config.ts";

/** Returns the members that run checks, by their heartbeats: those that live and have the config of most. */
export function activeHosts(members: readonly MemberStatus[]): readonly string[] {
  const live = members.filter((member) => isLiveMember(member) && member.config !== "");
  const active = activeConfig(live, null);
  return live.filter(({ config }) => config === active).map(({ host }) => host);
}
