/** Compares a received text with a secret, in a time that depends only on the length of the received text. */
export function isSameSecret(sent: string, secret: string): boolean {
  let difference = sent.length ^ secret.length;
  for (let index = 0; index < sent.length; index++) {
    difference |= sent.charCodeAt(index) ^ secret.charCodeAt(index % secret.length);
  }
  return difference === 0;
}
