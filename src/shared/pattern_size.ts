/** Maximum size of a compiled regular expression, in steps; configs with larger ones are rejected. */
export const PATTERN_STEPS_MAX = 500;

/** An escape, a class, the start of a group with its flags, or a count. */
const PIECE =
  /\\Q(?:[^\\]|\\(?!E))*(?:\\E)?|\\[pPx]\{[^}]*\}|\\[pP]?[^]|\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]\\])*\]|\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*[:)]))?|\{(\d+)(?:,(\d*))?\}|[^]/g;

/**
 * Estimates the steps of the compiled regular expression (RE2 syntax) without compiling it, which could take a second and
 * 100 MB. Alternatives that share letters have fewer, so only hugely oversized ones are detected.
 */
export function estimateSteps(pattern: string): number {
  const groups: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [piece, least, most] of pattern.matchAll(PIECE)) {
    if (piece.startsWith("(")) {
      // Flags alone are no group.
      if (piece.endsWith(")")) continue;
      groups.push(sum + last);
      [sum, last] = [0, 0];
    } else if (piece === ")") {
      [last, sum] = [sum + last, groups.pop() ?? 0];
    } else if (least !== undefined) {
      last *= Math.max(Number(least), Number(most ?? 0), 1);
    } else if (!"*+?".includes(piece)) {
      sum += last;
      last = piece.startsWith("\\Q") ? piece.length - 2 : 1;
    }
  }
  // Unclosed groups are rejected elsewhere.
  return groups.reduce((all, group) => all + group, sum + last);
}
