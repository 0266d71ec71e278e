/**
 * Returns a name as it is sent to a name server: labels with other characters than ASCII are in Punycode (RFC 5891). A name
 * that has no such form is returned as it is.
 */
export function asciiName(name: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\u0000-\u007f]*$/.test(name) || /[/?#@:\\%[\]\s]/.test(name)) return name;
  return URL.parse(`http://${name}`)?.hostname ?? name;
}
