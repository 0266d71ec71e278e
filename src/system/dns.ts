import type { Dns, DnsAnswer, DnsServerAddress } from "../domain/dns.ts";
import { messageOf } from "../shared/describe_error.ts";
import { RESOLVER_FILE } from "../domain/runtime_permissions.ts";

/**
 * The machine's look-ups. The runtime repeats a query over TCP if the reply is truncated, ignores replies to other
 * queries, and does not tell an error of the server from a name without records.
 */
export function createDns(): Dns {
  return { lookUp, machineServers };
}

const lookUp: Dns["lookUp"] = async ({ name, type, server }, signal) => {
  signal.throwIfAborted();
  try {
    // One of its signatures stands for all: each record is read as what it is.
    const records: readonly unknown[] = await Deno.resolveDns(name, type as "A", {
      signal,
      ...server !== null && { nameServer: { ipAddr: server.host, port: server.port } },
    });
    return { records: records.map(recordText) };
  } catch (error) {
    signal.throwIfAborted();
    return explain(error);
  }
};

function recordText(record: unknown): string {
  if (typeof record === "string") return withoutDot(record);
  // A TXT record consists of texts without a meaning of their own (RFC 7208, section 3.3).
  if (Array.isArray(record)) return record.join("");
  const fields = Object.entries(record as Readonly<Record<string, string | number | boolean>>);
  if (fields.some(([name]) => name === "tag")) {
    const { critical, tag, value } = Object.fromEntries(fields);
    return `${critical ? 128 : 0} ${tag} "${value}"`;
  }
  return fields.map(([, value]) => withoutDot(String(value))).join(" ");
}

function withoutDot(name: string): string {
  return name.replace(/(?<=.)\.$/, "");
}

function explain(error: unknown): DnsAnswer {
  const text = messageOf(error);
  if (error instanceof Deno.errors.NotCapable) {
    const grant = /"([^"]+)"/.exec(text)?.[1] ?? "";
    return { isObstacle: true, reason: `needs network access to "${grant}": grant --allow-net=${grant}` };
  }
  if (error instanceof Deno.errors.NotFound) return { isObstacle: false, reason: "no records" };
  if (error instanceof Deno.errors.TimedOut) return { isObstacle: false, reason: "no response" };
  if (/Too many open files/.test(text)) {
    return { isObstacle: true, reason: "too many open files on this machine" };
  }
  return { isObstacle: false, reason: text.replace(/^(?:proto error|io error): /, "") };
}

/** The port is always the same (resolv.conf(5)). */
const PORT = 53;

async function machineServers(): Promise<readonly DnsServerAddress[]> {
  const text = await Deno.readTextFile(RESOLVER_FILE).catch(() => "");
  return [...text.matchAll(/^\s*nameserver\s+([^\s%]+)/gm)].map(([, host = ""]) => ({ host, port: PORT }));
}
