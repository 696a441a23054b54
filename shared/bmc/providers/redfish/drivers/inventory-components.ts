import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import type { Hardware, HardwareComponent } from "../../../operations/inventory.ts";
import { Link, lenient } from "../service/schema.ts";
import { isAbsent, nameOf, type ProcessorResource, text } from "./inventory-parts.ts";

type PowerSupply = NonNullable<Hardware["powerSupplies"]>[number];
type Tpm = NonNullable<Hardware["tpms"]>[number];

const Text = lenient(z.string());
/** The entries of a list with elements of any type. */
const list = <T extends z.ZodMiniObject>(schema: T) => z.array(z.catch(schema, {} as never));

const component = {
  Id: Text,
  MemberId: Text,
  Name: Text,
  Manufacturer: Text,
  Model: Text,
  PartNumber: Text,
  SerialNumber: Text,
  FirmwareVersion: Text,
  Status: lenient(z.object({ State: Text, Health: Text })),
};
type Component = Partial<z.infer<z.ZodMiniObject<typeof component>>>;

/** PowerSupply (DSP0268), and its older form inside Power. */
export const PowerSupplyResource = z.object({
  ...component,
  PowerCapacityWatts: lenient(z.number().check(z.nonnegative())),
});

/** Power (DSP0268), which is deprecated but still the most common. */
export const PowerResource = z.object({ PowerSupplies: lenient(list(PowerSupplyResource)) });

export const PowerSubsystemResource = z.object({ PowerSupplies: lenient(Link) });

/** StorageController (DSP0268), and its older form inside Storage. */
export const StorageControllerResource = z.object(component);

/** The fields of Storage (DSP0268) that lead to its controllers. */
export const storageControllers = {
  StorageControllers: z.catch(list(StorageControllerResource), []),
  Controllers: lenient(Link),
};

/** iLO's own resource for a controller (HpeSmartStorageArrayController). Its `Name` is that of its type. */
export const SmartControllerResource = z.object({
  Id: Text,
  Model: Text,
  SerialNumber: Text,
  FirmwareVersion: lenient(z.object({ Current: lenient(z.object({ VersionString: Text })) })),
  Status: component.Status,
});

/** `TrustedModules` of a ComputerSystem (DSP0268). */
export const TrustedModules = list(
  z.object({ FirmwareVersion: Text, InterfaceType: Text, Status: component.Status }),
);

export function powerSupply(
  path: string,
  value: z.infer<typeof PowerSupplyResource>,
): PowerSupply | undefined {
  const found = described(path, value);
  const watts = value.PowerCapacityWatts || undefined;
  // A bay that is empty without saying so.
  if (!found || (isBare(found) && watts === undefined)) return undefined;
  return { ...found, ...defined({ watts }) };
}

export function storageController(
  path: string,
  value: z.infer<typeof StorageControllerResource>,
): HardwareComponent | undefined {
  const model = text(value.Model) ?? text(value.PartNumber);
  const found = described(path, { ...value, Model: model });
  return found && !isBare(found) ? found : undefined;
}

export function smartController(
  path: string,
  value: z.infer<typeof SmartControllerResource>,
): HardwareComponent | undefined {
  const { FirmwareVersion: firmware, ...controller } = value;
  const FirmwareVersion = firmware?.Current?.VersionString;
  return storageController(path, { ...controller, Name: value.Model, FirmwareVersion });
}

export function tpms(modules: z.infer<typeof TrustedModules>): readonly Tpm[] {
  return modules.flatMap((module, index) => {
    const found = described(`TPM ${index + 1}`, module);
    const interfaceType = text(module.InterfaceType);
    if (!found || (isBare(found) && interfaceType === undefined)) return [];
    return [{ ...found, ...defined({ interfaceType }) }];
  });
}

export function gpu(path: string, value: z.infer<typeof ProcessorResource>): HardwareComponent | undefined {
  return value.ProcessorType === "GPU" ? described(path, value) : undefined;
}

/** The condition of a part in Redfish's terms. */
export function conditionOf({ Status: status }: Pick<Component, "Status">) {
  return defined({ health: text(status?.Health), state: text(status?.State) });
}

/** Describes a part; undefined for the place of a missing part. */
function described(path: string, value: Component): HardwareComponent | undefined {
  if (isAbsent(value)) return undefined;
  return {
    name: nameOf(path, { Name: value.Name, Id: value.Id ?? value.MemberId }),
    ...defined({
      vendor: text(value.Manufacturer),
      model: text(value.Model),
      serial: text(value.SerialNumber),
      firmware: text(value.FirmwareVersion),
    }),
    ...conditionOf(value),
  };
}

function isBare({ name: _, ...known }: HardwareComponent): boolean {
  return Object.keys(known).length === 0;
}

/**
 * Merges the parts of two lists. Parts in both are listed once; without a serial number, two parts cannot be recognized as
 * the same.
 */
export function mergeParts<T extends { readonly serial?: string }>(
  first: readonly T[],
  second: readonly T[],
): T[] {
  const known = new Set(first.flatMap(({ serial }) => serial ?? []));
  return [...first, ...second.filter(({ serial }) => serial === undefined || !known.has(serial))];
}
