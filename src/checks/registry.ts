import type { CheckKind } from "../domain/check.ts";
import type { CheckKindEntry } from "../domain/observe.ts";
import { fileTimestampKind } from "./file_timestamp.ts";
import { httpRequestKind } from "./http_request.ts";
import { jobKind } from "./job.ts";
import { scriptKind } from "./script.ts";
import { tcpConnectKind } from "./tcp_connect.ts";
import { testKind } from "./test.ts";
import { tlsCertificateKind } from "./tls_certificate.ts";

/** Every check kind, each in its own file. A kind that is missing here does not compile. */
export const CHECK_KINDS: { readonly [K in CheckKind]: CheckKindEntry<K> } = {
  test: testKind,
  script: scriptKind,
  file_timestamp: fileTimestampKind,
  http_request: httpRequestKind,
  tcp_connect: tcpConnectKind,
  tls_certificate: tlsCertificateKind,
  job: jobKind,
};
