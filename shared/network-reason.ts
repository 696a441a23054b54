const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "no route to its network",
  EHOSTDOWN: "no route to host: it does not answer on the local network",
  ENETDOWN: "no route to its network: the interface is down",
  // A container without an IPv6 address cannot send to any IPv6 address.
  EADDRNOTAVAIL: "no route to its network: this host has no address from which to reach it",
  EAFNOSUPPORT: "no route to its network: this host has no IPv6",
  EACCES: "not permitted: a broadcast address, or a route or firewall rule forbids it",
  EPERM: "not permitted: a firewall rule forbids it",
  // Linux reports this for a link-local address without a zone and for a blackhole route.
  EINVAL: "no route to host; a link-local IPv6 address needs its zone, as in fe80::1%eth0",
  ENOTFOUND: "name not found",
  EAI_AGAIN: "temporary failure in name lookup",
  ETIMEDOUT: "timed out",
};

/**
 * Why a host cannot be reached, according to the system's error code; undefined if the error does not come from the network.
 */
export function networkReason(error: unknown): string | undefined {
  return REASONS[errorCode(error)];
}

/** The `code` of an error from Node or the system; empty if it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** The maximum number of causes that are checked. */
const MOST_CAUSES = 8;

/** Whether a host has answered that nothing listens there, according to an error or one of its causes. */
export function isConnectionRefused(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth += 1) {
    if (errorCode(cause) === "ECONNREFUSED") return true;
    cause = cause.cause;
  }
  return false;
}
