/** Decodes a part of a URL; a part with a broken escape is returned as it is. */
export function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
