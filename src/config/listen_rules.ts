import type { Check } from "../domain/check.ts";
import type { Listen } from "../domain/generated/config.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { parseListenAddress } from "../shared/listen_address.ts";
import { type Problem, quoteValue } from "./problem.ts";

/** Finds errors of an HTTP endpoint whose keys are valid one by one. */
export function findListenProblems(listen: Listen | null): readonly Problem[] {
  const message = listen === null ? null : describeExposure(listen);
  if (message === null) return [];
  return [{ path: ["listen", "address"], message, hint: 'set "token", or "public" with tags' }];
}

/** Describes why an endpoint is exposed; `null`: it has a token, or only this machine can connect. */
export function describeExposure(listen: Omit<Listen, "intervalMs">): string | null {
  const address = parseListenAddress(listen.address);
  if (
    address === null || isLoopback(address.host) || listen.token !== undefined || listen.public !== undefined
  ) {
    return null;
  }
  return `${quoteValue(listen.address)} is not a loopback address, so others could see every check`;
}

/** Warns of public tags that no check has, by the key that names them. */
export function warnOfPublicTags(
  publicTags: Readonly<Record<string, readonly string[] | undefined>>,
  checks: readonly Check[],
): readonly Problem[] {
  const known = new Set(checks.flatMap(({ tags }) => tags));
  return Object.entries(publicTags).flatMap(([key, tags = []]) =>
    tags.flatMap((tag, index) =>
      known.has(tag)
        ? []
        : [{ path: [key, "public", index], message: `no check has the tag ${quoteValue(tag)}` }]
    )
  );
}
