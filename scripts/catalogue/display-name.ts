/** Words of action names with another spelling. */
const WRITTEN: Readonly<Record<string, string>> = {
  bmc: "BMC",
  nmi: "NMI",
  ntp: "NTP",
  pxe: "PXE",
  sel: "SEL",
  sol: "SOL",
};

/** `set-pxe-once` as `Set PXE once`. */
export function displayName(action: string): string {
  const words = action.split("-").map((word) => WRITTEN[word] ?? word);
  const name = words.join(" ");
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
