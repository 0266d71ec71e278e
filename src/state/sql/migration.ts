/** The statements of one step to the present tables. */
export type Migration = readonly string[];

/** Returns the error for a state that is newer than this program. */
export function newerVersion(version: number, versionMax: number): string {
  return `it is of version ${version}, and this monitor knows versions up to ${versionMax}; use the newer monitor, ` +
    "or keep the state elsewhere";
}
