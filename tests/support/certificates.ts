/** X.509 certificates made on the spot (RFC 5280), with names and dates of the test's choice. */
import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { DAY_MS } from "../../src/shared/time_units.ts";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  readonly name: string;
  /** The certificate to trust, as PEM. */
  readonly cert: string;
  readonly privateKey: KeyObject;
}

export interface CertificateFacts {
  /** Without one, the certificate signs itself. */
  readonly authority?: Authority;
  readonly hosts?: readonly string[];
  readonly addresses?: readonly string[];
  /** Days from now, negative ones in the past. @default from yesterday to tomorrow */
  readonly fromDay?: number;
  readonly toDay?: number;
  readonly isAuthority?: boolean;
}

/** Creates a CA whose own certificate is valid from ten days ago for twenty days. */
export function createAuthority(): Authority {
  const { privateKey } = newKey();
  const name = "test authority";
  const der = signed({
    subject: name,
    subjectKey: privateKey,
    issuer: name,
    issuerKey: privateKey,
    days: [-10, 10],
    extensions: [AUTHORITY],
  });
  return { name, cert: pem("CERTIFICATE", der), privateKey };
}

export function createCertificate(facts: CertificateFacts = {}): Certificate {
  const { authority, hosts = ["localhost"], addresses = ["127.0.0.1"] } = facts;
  const { privateKey } = newKey();
  const subject = "test server";
  const names = [
    ...hosts.map((host) => element(0x82, Buffer.from(host))),
    ...addresses.map((address) => element(0x87, Buffer.from(address.split(".").map(Number)))),
  ];
  const der = signed({
    subject,
    subjectKey: privateKey,
    issuer: authority?.name ?? subject,
    issuerKey: authority?.privateKey ?? privateKey,
    days: [facts.fromDay ?? -1, facts.toDay ?? 1],
    extensions: [
      extension(SUBJECT_ALTERNATIVE_NAME, sequence(...names), { critical: false }),
      ...facts.isAuthority ? [AUTHORITY] : [],
    ],
  });
  const key = privateKey.export({ type: "pkcs8", format: "pem" });
  return { cert: pem("CERTIFICATE", der), key: key.toString() };
}

const BASIC_CONSTRAINTS = "2.5.29.19";
const SUBJECT_ALTERNATIVE_NAME = "2.5.29.17";
const COMMON_NAME = "2.5.4.3";
const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";

/** The extension that makes a certificate one of a CA. */
const AUTHORITY = extension(BASIC_CONSTRAINTS, sequence(boolean(true)), { critical: true });

interface Body {
  readonly subject: string;
  readonly subjectKey: KeyObject;
  readonly issuer: string;
  readonly issuerKey: KeyObject;
  readonly days: readonly [from: number, to: number];
  readonly extensions: readonly Buffer[];
}

function newKey(): { readonly privateKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function signed({ subject, subjectKey, issuer, issuerKey, days, extensions }: Body): Buffer {
  const algorithm = sequence(objectIdentifier(ECDSA_WITH_SHA256));
  const body = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    distinguishedName(issuer),
    sequence(...days.map((day) => time(Date.now() + day * DAY_MS))),
    distinguishedName(subject),
    createPublicKey(subjectKey).export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...extensions)),
  );
  return sequence(body, algorithm, bitString(sign("sha256", body, issuerKey)));
}

function distinguishedName(commonName: string): Buffer {
  const attribute = sequence(objectIdentifier(COMMON_NAME), element(0x0c, Buffer.from(commonName)));
  return sequence(element(0x31, attribute));
}

function extension(id: string, value: Buffer, { critical }: { readonly critical: boolean }): Buffer {
  return sequence(objectIdentifier(id), ...critical ? [boolean(true)] : [], element(0x04, value));
}

/** One element of the distinguished encoding rules (ITU-T X.690): tag, length, content. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...elements: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements));
}

function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.from([value ? 0xff : 0]));
}

function bitString(content: Buffer): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]));
}

function base128(number: number): readonly number[] {
  const digits = [number & 0x7f];
  for (let left = number >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** `GeneralizedTime` serves for any year. */
function time(timeMs: number): Buffer {
  const digits = new Date(timeMs).toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "");
  return element(0x18, Buffer.from(digits));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
