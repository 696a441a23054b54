/** A sensor of a machine. Redfish shows its value, and IPMI a raw byte. */
export interface SimulatedSensor {
  readonly name: string;
  readonly kind: "temperature" | "fan" | "voltage" | "power";
  value: number;
  readonly lowerCritical?: number;
  readonly lowerWarning?: number;
  readonly upperWarning?: number;
  readonly upperCritical?: number;
  state?: "absent" | "disabled";
}

/** Sensors with values that IPMI's bytes can express. */
export function defaultSensors(): SimulatedSensor[] {
  const fan = { kind: "fan", value: 4_200, lowerWarning: 1_200, lowerCritical: 600 } as const;
  const processor = { kind: "temperature", upperWarning: 85, upperCritical: 95 } as const;
  return [
    {
      name: "Inlet Temp",
      kind: "temperature",
      value: 23,
      lowerCritical: -7,
      upperWarning: 38,
      upperCritical: 42,
    },
    { name: "CPU1 Temp", ...processor, value: 48 },
    { name: "CPU2 Temp", ...processor, value: 0, state: "absent" },
    { name: "Fan 1", ...fan },
    { name: "Fan 2", ...fan },
    { name: "Fan 3", ...fan },
    { name: "12V", kind: "voltage", value: 12.096, lowerCritical: 10.773, upperCritical: 13.23 },
    { name: "System Power", kind: "power", value: 312 },
  ];
}
