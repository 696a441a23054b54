/** An option of a `Connection` that an error tells the user to set. */
type ConnectionOption =
  | "providers"
  | "tls.ca"
  | "tls.fingerprint"
  | "ironic.keystone.fingerprint"
  | "redfish.sshHostKey";

/** How the user sets an option, to a value where there is one: `--bmc-tls-fingerprint 5a1f…`. */
export type NameOption = (option: ConnectionOption, value?: string) => string;
