/** Whether a request header of this name is one that credentials travel in, as far as names tell. */
export function isCredentialHeader(name: string | number | undefined): boolean {
  return /auth|cookie|token|key|secret|passw|signature|credential|session/i.test(String(name ?? ""));
}
