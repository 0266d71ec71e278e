/** Returns whether a text can name a location: names are listed with commas, and are typed on command lines. */
export function isLocationName(text: string): boolean {
  return /^[\w.-]{1,64}$/.test(text);
}

export const LOCATION_NAME = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
