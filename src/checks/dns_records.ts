import type { RecordType } from "../domain/dns.ts";
import { asciiName } from "../shared/domain_name.ts";
import { canonicalAddress } from "../shared/ip_address.ts";

/** The syntax of a record, and the form in which two of them are compared. */
interface RecordForm {
  readonly isValid: (text: string) => boolean;
  readonly example: string;
  readonly canonical: (text: string) => string;
}

/** Names are compared without regard to case and final dots, numbers as they are. */
const canonicalNames = (text: string): string =>
  text.toLowerCase().split(/\s+/).map((word) => word.replace(/(?<=.)\.$/, "")).join(" ");

const matches = (pattern: RegExp) => (text: string): boolean => pattern.test(text);

const NAME: RecordForm = {
  isValid: matches(/^\S+$/),
  example: "www.example.org",
  canonical: canonicalNames,
};

const same = (text: string): string => text;

export const RECORD_FORMS: Readonly<Record<RecordType, RecordForm>> = {
  A: {
    isValid: (text) => canonicalAddress(text) !== null && !text.includes(":"),
    example: "192.0.2.1",
    canonical: same,
  },
  AAAA: {
    isValid: (text) => canonicalAddress(text) !== null && text.includes(":"),
    example: "2001:db8::1",
    canonical: (text) => canonicalAddress(text) ?? text,
  },
  CNAME: NAME,
  NS: NAME,
  PTR: NAME,
  MX: { isValid: matches(/^\d+\s+\S+$/), example: "10 mail.example.org", canonical: canonicalNames },
  SRV: {
    isValid: matches(/^(?:\d+\s+){3}\S+$/),
    example: "10 5 5060 sip.example.org",
    canonical: canonicalNames,
  },
  SOA: {
    isValid: matches(/^\S+\s+\S+(?:\s+\d+){5}$/),
    example: "ns1.example.org admin.example.org 2026010101 3600 900 604800 300",
    canonical: canonicalNames,
  },
  CAA: { isValid: matches(/^\d+ \w+ ".*"$/s), example: '0 issue "letsencrypt.org"', canonical: same },
  TXT: { isValid: () => true, example: "v=spf1 -all", canonical: same },
};

/** Returns the absolute name to query; for the `PTR` record of an IP address, its name in the reverse zone. */
export function absoluteName(name: string, type: RecordType): string {
  const address = type === "PTR" ? canonicalAddress(name) : null;
  if (address === null) return name.replace(/\.?$/, ".");
  if (!address.includes(":")) return `${address.split(".").reverse().join(".")}.in-addr.arpa.`;
  const [head = "", tail = ""] = address.split("::");
  const groups = (part: string): readonly string[] => part === "" ? [] : part.split(":");
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...new Array<string>(missing).fill("0"), ...groups(tail)];
  return `${all.map((group) => group.padStart(4, "0")).join("").split("").reverse().join(".")}.ip6.arpa.`;
}

/** Returns whether a name server can be asked for a name (RFC 1035, section 2.3.4). */
export function isDomainName(name: string): boolean {
  const sent = asciiName(name);
  return sent.length <= 254 && /^(?:[!--/-~]{1,63}\.)*[!--/-~]{1,63}\.?$/.test(sent);
}
