/** An option of a `Connection` that an error message asks the user to set. */
type ConnectionOption =
  | "providers"
  | "tls.ca"
  | "tls.fingerprint"
  | "ironic.keystone.fingerprint"
  | "redfish.sshHostKey";

/** Says how the user sets an option, with a value if there is one: `--bmc-tls-fingerprint 5a1f…`. */
export type NameOption = (option: ConnectionOption, value?: string) => string;

/** Says how to set the option in the inventory file. */
export const inventoryLine: NameOption = (option, value) =>
  option === "tls.ca"
    ? `tls: {caFile: ${value}} in the inventory`
    : `${optionText(option, value)} in the inventory`;

/** Says how to set the option in a program that uses the library. */
export const connectionLine: NameOption = (option, value) => `${optionText(option, value)} in the connection`;

function optionText(option: ConnectionOption, value: string | undefined): string {
  const keys = option.split(".");
  const last = keys.pop() ?? option;
  if (keys.length === 0) return last;
  const shown = option === "tls.ca" ? "PEM" : `"${value}"`;
  return keys.reduceRight((inner, key) => `${key}: {${inner}}`, `${last}: ${shown}`);
}
