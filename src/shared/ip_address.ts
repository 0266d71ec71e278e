/** Returns an IP address in its one canonical form, without brackets; `null` if the text is not an IP address. */
export function canonicalAddress(text: string): string | null {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) {
    return text.split(".").every((part) => Number(part) <= 255 && !/^0./.test(part)) ? text : null;
  }
  const url = /^[\da-f:.]+$/i.test(text) && text.includes(":") ? URL.parse(`http://[${text}]/`) : null;
  return url === null ? null : url.hostname.slice(1, -1);
}

/**
 * Returns whether only this machine is reached at a host, with or without brackets: `localhost`, 127.0.0.0/8 or
 * `::1`.
 */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
