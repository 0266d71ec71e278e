import { X509Certificate } from "node:crypto";
import { serverOf } from "../checks/domain_expiry.ts";
import { type Discovery, namesIn, type Proposal, textOf } from "./discovery.ts";

const WHAT = "certificates";

/** The directories of servers' certificates, and how many levels are below. */
const DIRECTORIES: readonly (readonly [path: string, levels: number])[] = [
  ["/etc/letsencrypt/live", 1],
  ["/etc/nginx/ssl", 1],
  ["/etc/nginx/certs", 1],
  ["/etc/apache2/ssl", 1],
  ["/etc/httpd/ssl", 1],
  ["/etc/haproxy/certs", 0],
  ["/etc/dehydrated/certs", 1],
  ["/var/lib/acme", 1],
  ["/var/lib/dehydrated/certs", 1],
  ["/var/lib/caddy/.local/share/caddy/certificates", 2],
];

const FILES_MAX = 500;

export async function discoverCertificates(discovery: Discovery): Promise<readonly Proposal[]> {
  const files: string[] = [];
  for (const [path, levels] of DIRECTORIES) await collect(path, levels, { discovery, files });
  const proposals = new Map<string, Proposal>();
  for (const path of files) {
    const text = await textOf(path, WHAT, discovery);
    const host = text === null ? null : hostOf(text);
    if (host === null || proposals.has(host)) continue;
    proposals.set(host, { words: [CERTIFICATE_KIND, host], reason: `certificate in ${path}` });
    const domain = registeredIn(host);
    if (domain === null || proposals.has(`domain ${domain}`)) continue;
    proposals.set(`domain ${domain}`, { words: [DOMAIN_KIND, domain], reason: `domain of ${host}` });
  }
  return [...proposals.values()];
}

const CERTIFICATE_KIND = "tls_certificate";
const DOMAIN_KIND = "domain_expiry";

/** Returns the registered domain where that is certain: of two labels, in a zone whose registry answers. */
function registeredIn(host: string): string | null {
  const [, domain, zone = ""] = /^(?:www\.)?([\w-]+\.(\w+))$/.exec(host) ?? [];
  return domain === undefined || serverOf(zone) === null ? null : domain;
}

async function collect(
  directory: string,
  levels: number,
  { discovery, files }: { readonly discovery: Discovery; readonly files: string[] },
): Promise<void> {
  for (const name of await namesIn(directory, WHAT, discovery)) {
    if (files.length >= FILES_MAX) return;
    if (/\.(?:pem|crt|cer)$/.test(name)) files.push(`${directory}/${name}`);
    else if (levels > 0 && !name.includes(".key")) {
      await collect(`${directory}/${name}`, levels - 1, { discovery, files });
    }
  }
}

/** Returns the first name of the first certificate that is no pattern; `null`: none, or it is of a CA. */
function hostOf(text: string): string | null {
  const [block] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text) ?? [];
  if (block === undefined) return null;
  try {
    const { ca, subjectAltName } = new X509Certificate(block);
    if (ca) return null;
    return (subjectAltName ?? "").split(", ").map((name) => /^DNS:([\w-]+(?:\.[\w-]+)+)$/.exec(name)?.[1])
      .find((name) => name !== undefined) ?? null;
  } catch {
    return null;
  }
}
