import type { Check, CheckKind } from "../domain/check.ts";
import { lazily } from "../shared/lazily.ts";
import type { CheckKindEntry } from "../domain/check_kind.ts";

/**
 * Every check kind, each in its own file. A kind that is missing here does not compile. A kind's modules are loaded
 * with the first check of that kind: loading all of them takes longer than most runs.
 */
export const CHECK_KINDS: { readonly [K in CheckKind]: () => Promise<CheckKindEntry<K>> } = {
  test: lazily(async () => (await import("./test.ts")).testKind),
  script: lazily(async () => (await import("./script.ts")).scriptKind),
  file_timestamp: lazily(async () => (await import("./file_timestamp.ts")).fileTimestampKind),
  file: lazily(async () => (await import("./file.ts")).fileKind),
  log: lazily(async () => (await import("./log.ts")).logKind),
  http_request: lazily(async () => (await import("./http_request.ts")).httpRequestKind),
  tcp_connect: lazily(async () => (await import("./tcp_connect.ts")).tcpConnectKind),
  tls_certificate: lazily(async () => (await import("./tls_certificate.ts")).tlsCertificateKind),
  disk_space: lazily(async () => (await import("./disk_space.ts")).diskSpaceKind),
  memory: lazily(async () => (await import("./memory.ts")).memoryKind),
  load: lazily(async () => (await import("./load.ts")).loadKind),
  network_interface: lazily(async () => (await import("./network_interface.ts")).networkInterfaceKind),
  process: lazily(async () => (await import("./process.ts")).processKind),
  systemd_unit: lazily(async () => (await import("./systemd_unit.ts")).systemdUnitKind),
  dns_lookup: lazily(async () => (await import("./dns_lookup.ts")).dnsLookupKind),
  domain_expiry: lazily(async () => (await import("./domain_expiry.ts")).domainExpiryKind),
  grpc_health: lazily(async () => (await import("./grpc_health.ts")).grpcHealthKind),
  ntp: lazily(async () => (await import("./ntp.ts")).ntpKind),
  websocket: lazily(async () => (await import("./websocket.ts")).websocketKind),
  mysql_query: lazily(async () => (await import("./mysql_query.ts")).mysqlQueryKind),
  postgres_query: lazily(async () => (await import("./postgres_query.ts")).postgresQueryKind),
  redis_command: lazily(async () => (await import("./redis_command.ts")).redisCommandKind),
  ping: lazily(async () => (await import("./ping.ts")).pingKind),
  group: lazily(async () => (await import("./group.ts")).groupKind),
  container: lazily(async () => (await import("./container.ts")).containerKind),
  job: lazily(async () => (await import("./job.ts")).jobKind),
  rehearsal: lazily(async () => (await import("./rehearsal.ts")).rehearsalKind),
  reported: lazily(async () => (await import("./reported.ts")).reportedKind),
};

/** Returns the entry of a check's own kind; it accepts any check, and is for this one. */
export function entryOf(check: Check): Promise<CheckKindEntry<CheckKind>> {
  return CHECK_KINDS[check.kind]() as Promise<CheckKindEntry<CheckKind>>;
}

export async function entriesOf(
  checks: readonly Check[],
): Promise<(check: Check) => CheckKindEntry<CheckKind>> {
  const entries = new Map<CheckKind, CheckKindEntry<CheckKind>>();
  for (const check of checks) entries.set(check.kind, await entryOf(check));
  return ({ kind }) => {
    const entry = entries.get(kind);
    if (entry === undefined) throw new Error(`The kind "${kind}" was not read`);
    return entry;
  };
}
