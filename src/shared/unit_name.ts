const NAME = String.raw`[\w:.\\@-]+`;

/** Matches the name of a unit of the system, of any type (systemd.unit(5)). */
export const UNIT_NAME = new RegExp(
  `^${NAME}\\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`,
);

/** The unit of a control group, without what a container or a service has below it. */
const GROUP = new RegExp(
  String.raw`(?:^|,)(?:systemd|0:):(?:/\.\.|/${NAME}\.slice)*` +
    String.raw`(?:(/user@\d+\.service)(?:/${NAME}\.slice)*)?(/${NAME}\.(?:service|scope))(?![^/,])`,
);

/**
 * Returns the unit in the `cgname` of `ps`, such as `0::/system.slice/nginx.service`; that of a user with the unit of the
 * user's manager, as in `user@1000.service/sync.service`. `null`: none is in it.
 */
export function unitOfControlGroup(cgname: string): string | null {
  const [, manager = "", unit] = GROUP.exec(cgname) ?? [];
  return unit === undefined ? null : `${manager}${unit}`.slice(1);
}

/** Returns whether a text names a unit as {@linkcode unitOfControlGroup} does. */
export function isUnit(text: string): boolean {
  return UNIT_NAME.test(text.replace(/^user@\d+\.service\//, ""));
}
