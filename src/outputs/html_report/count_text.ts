export function countText(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}
