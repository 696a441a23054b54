import type { ProviderName } from "../../../shared/contract/vocabulary.ts";

/** Maps Rufio's providers, in lower case, to those of this project. The vendors' providers use Redfish. */
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
 * The providers to try: first those of `preferredOrder`, then the rest of this project's default order. Options for Intel AMT
 * add `amt` at the end. Undefined means the default order.
 */
export function providerOrder(
  preferred: readonly string[],
  hasAmtOptions: boolean,
): readonly ProviderName[] | undefined {
  const first = preferred.map(providerOf).filter((name) => name !== undefined);
  if (first.length === 0 && !hasAmtOptions) return undefined;
  return [...new Set([...first, ...DEFAULT_ORDER, ...(hasAmtOptions ? (["amt"] as const) : [])])];
}
