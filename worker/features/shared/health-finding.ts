/** The names in the answers. */
export const healthCheckNames = [
  "lanes",
  "tink_server",
  "runtime",
  "state_directory",
  "cluster",
  "leader_election",
] as const;
type HealthCheckName = (typeof healthCheckNames)[number];

export interface HealthFinding {
  readonly ok: boolean;
  /** One line, without secrets. */
  readonly reason: string;
}

export interface NamedHealthFinding extends HealthFinding {
  readonly name: HealthCheckName;
}
