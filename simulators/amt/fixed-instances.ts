import type { Fields, Reference } from "./answers.ts";

export const PXE = "Intel(r) AMT: Force PXE Boot";
export const CONFIGURATION = "Intel(r) AMT: Boot Configuration 0";
export const GENERAL_SETTINGS = "Intel(r) AMT: General Settings";
const BOOT_STRINGS: Readonly<Record<string, string>> = {
  "Intel(r) AMT: Force Hard-drive Boot": "CIM:Hard-Disk:1",
  "Intel(r) AMT: Force CD/DVD Boot": "CIM:CD/DVD:1",
  [PXE]: "CIM:Network:1",
};
export const SOURCES = Object.keys(BOOT_STRINGS);

const named = (CreationClassName: string, Name: string) => ({ CreationClassName, ElementName: Name, Name });
export const service = (creationClass: string, name: string): Fields => ({
  ...named(creationClass, name),
  EnabledState: 5,
  SystemCreationClassName: "CIM_ComputerSystem",
  SystemName: "Intel(r) AMT",
});

/** The reference with which associations and parameters name the machine. */
export const MANAGED_SYSTEM: Reference = {
  of: "CIM_ComputerSystem",
  keys: { CreationClassName: "CIM_ComputerSystem", Name: "ManagedSystem" },
};

/** Instances that never change, by class, with the field names of the Intel AMT SDK's class reference. */
export const FIXED_INSTANCES: Readonly<Record<string, readonly Fields[]>> = {
  AMT_GeneralSettings: [
    {
      ElementName: "Intel(r) AMT: General Settings",
      InstanceID: GENERAL_SETTINGS,
      NetworkInterfaceEnabled: "true",
      WsmanOnlyMode: "false",
    },
  ],
  CIM_BootConfigSetting: [{ ElementName: "Intel(r) AMT: Boot Configuration", InstanceID: CONFIGURATION }],
  CIM_BootService: [service("CIM_BootService", "Intel(r) AMT Boot Service")],
  CIM_BootSourceSetting: SOURCES.map((source) => ({
    ElementName: "Intel(r) AMT: Boot Source",
    FailThroughSupported: 2,
    InstanceID: source,
    StructuredBootString: BOOT_STRINGS[source] ?? "",
  })),
  CIM_ComputerSystem: [
    named("CIM_ComputerSystem", "Intel(r) AMT"),
    { ...named("CIM_ComputerSystem", "ManagedSystem"), ElementName: "Managed System" },
  ],
  CIM_PowerManagementService: [
    service("CIM_PowerManagementService", "Intel(r) AMT Power Management Service"),
  ],
};

/** AMT_BootSettingData without any option. */
export const BOOT_SETTINGS = {
  BIOSLastStatus: "2",
  BIOSPause: "false",
  BIOSSetup: "false",
  BootMediaIndex: "0",
  ElementName: "Intel(r) AMT Boot Configuration Settings",
  EnforceSecureBoot: "true",
  InstanceID: "Intel(r) AMT:BootSettingData 0",
  OptionsCleared: "true",
  OwningEntity: "Intel(r) AMT",
  RSEPassword: "",
  UseIDER: "false",
  UseSOL: "false",
};
