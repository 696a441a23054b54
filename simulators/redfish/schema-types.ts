/** The versions of DMTF's schemas (DSP8010) for the resources. Each resource names its own version (DSP0266 section 9.5.3). */
const VERSIONS = {
  AccountService: "v1_10_0",
  ActionInfo: "v1_2_0",
  Assembly: "v1_5_0",
  AttributeRegistry: "v1_3_6",
  Bios: "v1_2_0",
  BootOption: "v1_0_4",
  Certificate: "v1_5_0",
  CertificateService: "v1_0_3",
  Chassis: "v1_21_0",
  Drive: "v1_12_0",
  Control: "v1_2_0",
  EnvironmentMetrics: "v1_3_0",
  EthernetInterface: "v1_6_0",
  Fan: "v1_5_0",
  LogEntry: "v1_9_0",
  LogService: "v1_2_0",
  ManagerNetworkProtocol: "v1_8_0",
  Job: "v1_1_0",
  Memory: "v1_11_0",
  MessageRegistryFile: "v1_1_0",
  Power: "v1_7_0",
  PowerSubsystem: "v1_1_0",
  PowerSupply: "v1_5_0",
  Processor: "v1_11_0",
  Role: "v1_3_0",
  SecureBoot: "v1_1_0",
  SecureBootDatabase: "v1_0_1",
  Sensor: "v1_7_0",
  Signature: "v1_0_2",
  Session: "v1_3_0",
  SessionService: "v1_1_0",
  SoftwareInventory: "v1_4_0",
  Storage: "v1_10_0",
  Task: "v1_5_0",
  Thermal: "v1_7_1",
  ThermalSubsystem: "v1_3_0",
  UpdateService: "v1_9_0",
  Volume: "v1_6_0",
} as const;
type SchemaType = keyof typeof VERSIONS;

/** Makes a resource with the required fields: its address, type, Id and Name. */
export function resource(
  path: string,
  type: SchemaType,
  fields: { readonly Name: string } & Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const id = path.split("/").at(-1);
  return { "@odata.id": path, "@odata.type": `#${type}.${VERSIONS[type]}.${type}`, Id: id, ...fields };
}
