/** A time of day such as `06:30`, including `24:00`, as minutes after midnight; `null` if the text is none. */
export function minuteOfDay(text: string): number | null {
  const [, hour, minute] = /^(\d\d):([0-5]\d)$/.exec(text) ?? [];
  if (hour === undefined || minute === undefined) return null;
  const minutes = Number(hour) * 60 + Number(minute);
  return minutes <= 24 * 60 ? minutes : null;
}
