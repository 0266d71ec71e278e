import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** A package in the executable. */
export interface SbomPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX identifier or expression. */
  readonly license: string;
}

export interface SbomOptions {
  /** Of `monitor`. */
  readonly version: string;
  /** Of Deno, which every executable contains. */
  readonly runtimeVersion: string;
  readonly packages: readonly SbomPackage[];
  /** The checksum of a package as the lock file has it: `sha512-` and base64. */
  integrityOf(name: string, version: string): string | undefined;
  /** Wall time of the commit, seconds since 1970. */
  readonly epochSeconds: number;
}

/**
 * Returns the software bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): `monitor`, the runtime,
 * and each package with its license and the checksum of the lock file.
 */
export function createSbom(options: SbomOptions): string {
  const { version, runtimeVersion, packages, epochSeconds } = options;
  const root = { "bom-ref": `monitor@${version}`, type: "application", name: "monitor", version };
  const components = [
    {
      "bom-ref": `deno@${runtimeVersion}`,
      type: "platform",
      name: "deno",
      version: runtimeVersion,
      licenses: [{ license: { id: "MIT" } }],
      purl: `pkg:github/denoland/deno@v${runtimeVersion}`,
    },
    ...packages.map((entry) => npmComponent(entry, options)),
  ];
  const content = {
    metadata: { timestamp: new Date(epochSeconds * 1000).toISOString(), component: root },
    components,
    dependencies: [{ ref: root["bom-ref"], dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  return `${
    JSON.stringify(
      {
        $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
        bomFormat: "CycloneDX",
        specVersion: "1.6",
        serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
        version: 1,
        ...content,
      },
      null,
      2,
    )
  }\n`;
}

function npmComponent({ name, version, license }: SbomPackage, { integrityOf }: SbomOptions) {
  const integrity = integrityOf(name, version);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    "bom-ref": purl,
    type: "library",
    name,
    version,
    licenses: [/ (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }],
    purl,
    // The lock file lacks packages that another one contains in its own files.
    ...integrity !== undefined && { hashes: [{ alg: "SHA-512", content: sha512(integrity) }] },
  };
}

/** From the form of the lock file to hexadecimal digits. */
function sha512(integrity: string): string {
  return Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
}

/** A UUID (version 8, RFC 9562) of a text, so that two builds of one commit have the same. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = "89ab"[parseInt(hex[16] ?? "0", 16) % 4];
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ]
    .join("-");
}
