/** Words of JSON that repeat into something long. */
export const JSON_TOKENS = ['"a":1,', "1,", "{},", "[],", '"a",', "null,", "1e9", "\\u0000", '"__proto__":{'];

/** What a peer's JSON says; undefined where it is none. */
export function jsonOf(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}
