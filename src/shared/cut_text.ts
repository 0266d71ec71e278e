const encoder = new TextEncoder();

/** Cuts a text to so many bytes of UTF-8, an ellipsis at the end included. No character is parted. */
export function cutToBytes(text: string, bytesMax: number): string {
  const whole = encoder.encodeInto(text, new Uint8Array(bytesMax));
  if (whole.read === text.length) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytesMax - ELLIPSIS_BYTES));
  return `${text.slice(0, read)}…`;
}

const ELLIPSIS_BYTES = encoder.encode("…").length;
