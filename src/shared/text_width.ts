/**
 * Returns the number of terminal columns of a printable text: two for ideographs and emoji, none for colors and for
 * marks that combine with the character before them. Widths are those of Unicode's UAX #11; sequences that form one
 * emoji, those of UTS #51.
 *
 * This is our own because every run pays for it: npm's string-width names the property `RGI_Emoji` in a regular
 * expression and makes an `Intl.Segmenter`, and reading that data takes the engine as long as most of its start.
 */
export function textWidth(text: string): number {
  if (!NOT_PLAIN.test(text)) return text.length;
  let columns = 0;
  for (const { 0: piece, groups } of text.matchAll(PIECES)) {
    if (groups?.["wide"] !== undefined) columns += 2;
    else if (groups?.["hangul"] !== undefined) columns += hangulWidth(piece);
    else if (groups?.["color"] === undefined) columns += characterWidth(piece);
  }
  return columns;
}

/** Anything but printable ASCII. */
const NOT_PLAIN = /[^\x20-\x7e]/;

/**
 * Sequences of code points with a common width: one emoji (a flag, a keycap, one with a skin tone or in emoji style,
 * several that are joined), Hangul letters in a row, or a color sequence. Else one code point, with the mark that
 * requests its text style. Nothing here can match in two ways, so hostile text costs no more than its length.
 */
const PIECES = new RegExp(
  [
    String.raw`(?<wide>\p{Regional_Indicator}{1,2}`,
    String.raw`[\d#*]\ufe0f\u20e3?`,
    String.raw`\p{Extended_Pictographic}(?:[\ufe0f\p{Emoji_Modifier}]|\u200d\p{Extended_Pictographic})+)`,
    String.raw`(?<hangul>[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb]+)`,
    String.raw`(?<color>\u001b\[[\d;]*m)`,
    String.raw`.\ufe0e?`,
  ].join("|"),
  "gsu",
);

const HANGUL_SYLLABLE = /[\uac00-\ud7a3]/;
const HANGUL_VOWEL = /[\u1160-\u11a7\ud7b0-\ud7c6]/;
const HANGUL_FINAL = /[\u11a8-\u11ff\ud7cb-\ud7fb]/;
const SYLLABLES_START = 0xac00;
/** How many syllables have the same first letters: one that ends with its vowel, and the others. */
const FINALS = 28;

/** Letters that make a syllable together (rules GB6 to GB8 of UAX #29) are as wide as its first one. */
function hangulWidth(letters: string): number {
  let columns = 0;
  let before: "first" | "vowel" | "final" | null = null;
  for (const letter of letters) {
    if (HANGUL_VOWEL.test(letter)) {
      if (before === null || before === "final") columns += 1;
      before = "vowel";
    } else if (HANGUL_FINAL.test(letter)) {
      if (before === null || before === "first") columns += 1;
      before = "final";
    } else {
      if (before !== "first") columns += 2;
      before = !HANGUL_SYLLABLE.test(letter)
        ? "first"
        : (letter.charCodeAt(0) - SYLLABLES_START) % FINALS === 0
        ? "vowel"
        : "final";
    }
  }
  return columns;
}

/** Controls, joiners and marks, without the few (signs before Arabic numbers) that have a width. */
const INVISIBLE =
  /^(?![\u0600-\u0605\u06dd\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u;

/** East Asian Width W and F of EastAsianWidth.txt (Unicode 17), with unassigned characters between them. */
const WIDE =
  /^(?:\p{Emoji_Presentation}(?!\ufe0e)|[\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4c6\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f1ae}\u{1f200}-\u{1f265}\u{1f6d8}\u{1f6d9}\u{1f7da}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}])/u;

function characterWidth(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
