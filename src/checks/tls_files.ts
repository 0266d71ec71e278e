import { describeFileError } from "../shared/describe_error.ts";
import type { HttpMessageTls } from "../domain/generated/config.ts";
import { readRegularFile } from "../shared/regular_file.ts";
import type { Files } from "../domain/files.ts";
import type { TlsMaterial } from "../domain/tls.ts";

/** The contents of the configured files for TLS, or the reason why they cannot be read. */
type TlsFiles = { readonly tls: TlsMaterial } | { readonly problem: string };

/** Far larger than any list of CAs. */
const TLS_FILE_BYTES_MAX = 4 * 1024 * 1024;

export async function readTlsFiles(tls: HttpMessageTls, files: Files): Promise<TlsFiles> {
  const read: { authority?: string; certificate?: string; key?: string } = {};
  for (const file of ["authority", "certificate", "key"] as const) {
    const key = file === "authority" ? "caFile" : file;
    const path = tls[key];
    if (path === undefined) continue;
    try {
      read[file] = await readText(path, files);
    } catch (error) {
      const name = key === "caFile" ? "ca_file" : key;
      return { problem: `cannot read tls.${name} "${path}": ${describeFileError(error, { path })}` };
    }
  }
  return { tls: read };
}

async function readText(path: string, files: Files): Promise<string> {
  const { bytes } = await readRegularFile(path, { files, bytesMax: TLS_FILE_BYTES_MAX });
  return new TextDecoder().decode(bytes);
}

/** One certificate in the form of RFC 7468. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Reads the certificates of a `ca_file`, or why there are none; without one there are none. */
export async function readAuthorities(
  files: Files,
  path: string | undefined,
): Promise<readonly string[] | string> {
  if (path === undefined) return [];
  let text;
  try {
    text = await readText(path, files);
  } catch (error) {
    return `ca_file "${path}" cannot be read: ${describeFileError(error, { path })}`;
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  return certificates.length > 0 ? certificates : `ca_file "${path}" contains no certificate, expected PEM`;
}
