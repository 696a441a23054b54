/** Formats a number with its noun for people: `1 entry`, `2 entries`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
