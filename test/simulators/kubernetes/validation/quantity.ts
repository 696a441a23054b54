/** What a resource.Quantity looks like; the server says so in these words. */
export const QUANTITY_RULE =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][-+]?\d+)?$/;

const SCALES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** In base units; undefined for what is no quantity. */
export function parseQuantity(text: string): number | undefined {
  const [, number, suffix = ""] = QUANTITY.exec(text) ?? [];
  if (number === undefined) return undefined;
  if (suffix === "") return Number(number);
  const scale = SCALES[suffix];
  return scale === undefined ? Number(`${number}${suffix}`) : Number(number) * scale;
}
