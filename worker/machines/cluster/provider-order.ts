import type { ProviderName } from "../../../shared/contract/vocabulary.ts";

/** What Rufio's providers are here, in lower case: those of vendors speak Redfish. */
const PROVIDERS: Readonly<Record<string, ProviderName>> = {
  ipmitool: "ipmi",
  asrockrack: "redfish",
  gofish: "redfish",
  intelamt: "amt",
  dell: "redfish",
  supermicro: "redfish",
  openbmc: "redfish",
};

const DEFAULT_ORDER: readonly ProviderName[] = ["redfish", "ipmi"];

export function providerOf(name: string): ProviderName | undefined {
  const known = name.toLowerCase();
  return Object.hasOwn(PROVIDERS, known) ? PROVIDERS[known] : undefined;
}

/**
 * The providers to try: those of `preferredOrder` move to the front of this project's default order, as in Rufio they move
 * to the front of Rufio's. Whoever gives options for Intel AMT has such a device: it is tried, too, at the end. Undefined
 * leaves the default order as it is.
 */
export function providerOrder(
  preferred: readonly string[],
  hasAmtOptions: boolean,
): readonly ProviderName[] | undefined {
  const first = preferred.map(providerOf).filter((name) => name !== undefined);
  if (first.length === 0 && !hasAmtOptions) return undefined;
  return [...new Set([...first, ...DEFAULT_ORDER, ...(hasAmtOptions ? (["amt"] as const) : [])])];
}
