/**
 * Returns whether a name matches a pattern: `*` matches any characters, `?` one. A leading dot is matched only by a
 * dot, as in shells. It goes back only to the last `*`, so that no pattern makes it slow.
 */
export function matchesGlob(name: string, pattern: string): boolean {
  if (name.startsWith(".") && !pattern.startsWith(".")) return false;
  const letters = [...name];
  const signs = [...pattern];
  let at = 0;
  let sign = 0;
  let star = -1;
  let starAt = 0;
  while (at < letters.length) {
    if (signs[sign] === "*") {
      star = sign++;
      starAt = at;
    } else if (signs[sign] === "?" || signs[sign] === letters[at]) {
      at++;
      sign++;
    } else if (star >= 0) {
      sign = star + 1;
      at = ++starAt;
    } else return false;
  }
  while (signs[sign] === "*") sign++;
  return sign === signs.length;
}
