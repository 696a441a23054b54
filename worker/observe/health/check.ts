/** What is checked, by the name under which it is told. */
export const checkNames = [
  "lanes",
  "tink_server",
  "runtime",
  "state_directory",
  "cluster",
  "replicas",
] as const;
export type CheckName = (typeof checkNames)[number];

/** What a check found. */
export interface Finding {
  readonly ok: boolean;
  /** One line: what is well, or what is not. No secrets. */
  readonly reason: string;
}
