/**
 * Workaround: with an empty `TZ`, the runtime names the zone of the system `Etc/Unknown`, which it does not accept
 * itself. POSIX leaves such a value to the system, whose programs use UTC.
 *
 * Upstream: no issue was found (in 2.7.11)
 */
export function systemTimeZone(): string {
  const zone = Temporal.Now.timeZoneId();
  return zone === "Etc/Unknown" ? "UTC" : zone;
}
