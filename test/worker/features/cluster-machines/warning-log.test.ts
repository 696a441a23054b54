import { describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import { describeMachine } from "../../../../worker/features/cluster-machines/described-machine.ts";
import { indexMachines } from "../../../../worker/features/cluster-machines/machine-index.ts";
import { machineWarnings, WarningLog } from "../../../../worker/features/cluster-machines/warning-log.ts";
import { machine, NAMESPACE } from "./inventory-lab.ts";

/** What is said of Machines with these connections. */
function warningsOn(connections: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  const machines = Object.entries(connections).flatMap(([name, connection]) => {
    return describeMachine(machine(name, connection), { name, namespace: NAMESPACE }) ?? [];
  });
  const objects = {
    ...{ machines, hardware: [], references: [] },
    hosts: [],
    claims: [],
    findHost: () => undefined,
    findMachine: () => undefined,
    machinesUnseen: undefined,
  };
  const naming = { source: "local", prefix: "", sources: ["machines"], allNamespaces: false } as const;
  return machineWarnings(indexMachines(objects, naming));
}

function collector() {
  const said: [message: string, fields: LogFields][] = [];
  const logNew = (fields: LogFields, message: string) => void said.push([message, fields]);
  const log: Logger = { debug: logNew, info: logNew, warn: logNew, error: logNew };
  return { said, warnings: new WarningLog(log) };
}

describe("warnings on machines", () => {
  it("are logged once while they stay the same, and again when they return", () => {
    const { said, warnings } = collector();
    const strange = { "node-1": { newcomer: true } };
    const line = [
      "unknown machine options ignored",
      {
        machine: "node-1",
        object: "Machine tink-system/node-1",
        options: ["spec.connection.newcomer"],
      },
    ];

    warnings.logNew(warningsOn(strange));
    warnings.logNew(warningsOn(strange));
    expect(said).toEqual([line]);
    warnings.logNew(warningsOn({ "node-1": {} }));
    warnings.logNew(warningsOn(strange));
    expect(said).toEqual([line, line]);
  });

  it("are logged again with another reason", () => {
    const { said, warnings } = collector();

    warnings.logNew(warningsOn({ "node-1": { host: "a b" } }));
    warnings.logNew(warningsOn({ "node-1": { host: "h", port: 70_000 } }));

    expect(said.map(([, fields]) => fields["reason"])).toEqual([
      "Machine tink-system/node-1: spec.connection.host must be only a name or address",
      "Machine tink-system/node-1: spec.connection.port is not a port, 1 to 65535",
    ]);
  });
});
