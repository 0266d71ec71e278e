export type RecordType = "A" | "AAAA" | "CNAME" | "MX" | "NS" | "TXT" | "SOA" | "SRV" | "CAA" | "PTR";

export interface DnsServerAddress {
  /** An IP address, without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

export interface DnsQuestion {
  /** Absolute, with the final dot. */
  readonly name: string;
  readonly type: RecordType;
  /** `null`: those of this machine. */
  readonly server: DnsServerAddress | null;
}

export type DnsAnswer =
  /** Each as text in the form of zone files, names without the final dot; at least one. */
  | { readonly records: readonly string[] }
  /** `isObstacle`: a failure of this side, which doesn't concern the server. */
  | { readonly reason: string; readonly isObstacle: boolean };

export interface Dns {
  /** Throws the signal's reason only. */
  lookUp(question: DnsQuestion, signal: AbortSignal): Promise<DnsAnswer>;
  /** The name servers of this machine; empty if they can't be found out. */
  machineServers(): Promise<readonly DnsServerAddress[]>;
}
