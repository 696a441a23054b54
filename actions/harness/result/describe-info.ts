import type { BmcInfo } from "../../../shared/bmc/provider.ts";

/** For people, as far as the BMC says: `Contoso BMC-2000, firmware 1.45.455b66, serial XYZ7`. */
export function describeInfo({ vendor, model, firmware, serial }: BmcInfo): string {
  // Makers that put their name into the model, too, would be named twice.
  const maker = vendor !== undefined && model?.startsWith(vendor) ? undefined : vendor;
  const parts = [
    [maker, model].filter((part) => part !== undefined).join(" ") || "BMC",
    ...(firmware === undefined ? [] : [`firmware ${firmware}`]),
    ...(serial === undefined ? [] : [`serial ${serial}`]),
  ];
  return parts.join(", ");
}
