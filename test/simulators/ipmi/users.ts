export type SimulatedPrivilege = "user" | "operator" | "administrator";

export interface SimulatedUser {
  readonly name: string;
  readonly password: string;
  /** The highest level the user may reach; administrator when absent. */
  readonly privilege?: SimulatedPrivilege;
}

export const LEVELS: Readonly<Record<SimulatedPrivilege, number>> = {
  user: 2,
  operator: 3,
  administrator: 4,
};

/** The user's key as a BMC stores it: zeros fill up what the password leaves. */
export function storedKey(password: string, passwordBytes: 16 | 20): Buffer {
  const key = Buffer.alloc(20);
  Buffer.from(password).subarray(0, passwordBytes).copy(key);
  return key;
}
