import { actionV1, connectionV2, operationV2 } from "./bmc-schemas.ts";
import {
  anything,
  flag,
  integer,
  listOf,
  mapOf,
  matching,
  object,
  oneOf,
  type Schema,
  text,
  time,
} from "./schema.ts";

const resourceReference = object({ group: text, name: text, namespace: text, resource: text, version: text });
const uri: Schema = { type: "string", format: "uri" };
const octet = "(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)";
const ipv4 = `(${octet}\\.){3}${octet}`;

const dhcp = object(
  {
    arch: text,
    boot_file_name: text,
    classless_static_routes: listOf(
      object({
        "destination_descriptor!": matching(`^${ipv4}/(3[0-2]|[12]?[0-9])$`),
        "router!": matching(`^${ipv4}$`),
      }),
    ),
    domain_name: text,
    hostname: text,
    iface_name: text,
    ip: object({ address: text, family: integer, gateway: text, netmask: text }),
    lease_time: integer,
    mac: matching("([0-9a-f]{2}[:]){5}([0-9a-f]{2})"),
    name_servers: listOf(text),
    tftp_server_name: text,
    time_servers: listOf(text),
    uefi: flag,
    vlan_id: text,
  },
  {
    rules: [
      {
        message: "TFTPServerName and BootFileName must both be specified or both be empty",
        holds: (self) => Boolean(self["tftp_server_name"]) === Boolean(self["boot_file_name"]),
      },
    ],
  },
);

/** `metadata` and what was read from the machine are kept as they come: nothing here reads them. */
export const hardwareV1: Schema = object({
  spec: object({
    agentID: text,
    auto: object({ enrollmentEnabled: { type: "boolean", default: false } }),
    bmcRef: object({ apiGroup: text, "kind!": text, "name!": text }),
    disks: listOf(object({ device: text })),
    interfaces: listOf(
      object({
        dhcp,
        disableDhcp: { type: "boolean", default: false },
        isoboot: object({ sourceISO: uri }),
        netboot: object({
          allowPXE: flag,
          allowWorkflow: flag,
          ipxe: object({ binary: text, contents: text, url: text }),
          osie: object({ baseURL: text, initrd: text, kernel: text, kernelParams: listOf(text) }),
          pxelinux: object({ config: text }),
          rpi: object({ configTxt: text, firmwarePath: text, "serialNum!": text }),
        }),
      }),
    ),
    metadata: anything,
    references: mapOf(resourceReference),
    resources: anything,
    tinkVersion: integer,
    userData: text,
    vendorData: text,
  }),
  status: object({ attributes: anything, state: text }),
});

export const templateV1: Schema = object({
  spec: object({ data: text }),
  status: object({ state: text }),
});

const bootProgress = object({
  allowNetboot: object({ toggledFalse: flag, toggledTrue: flag }),
  jobs: mapOf(object({ complete: flag, existingJobDeleted: flag, uid: text })),
});

const conditions = listOf(object({ message: text, reason: text, "status!": text, time, "type!": text }));

export const workflowV1: Schema = object({
  spec: object({
    bootOptions: object({
      bootMode: oneOf("netboot", "isoboot", "iso", "customboot"),
      custombootConfig: object({ postActions: listOf(actionV1), preparingActions: listOf(actionV1) }),
      isoURL: uri,
      toggleAllowNetboot: flag,
    }),
    disabled: flag,
    hardwareMap: mapOf(text),
    hardwareRef: text,
    templateRef: text,
  }),
  status: object({
    agentID: text,
    bootOptions: bootProgress,
    conditions,
    currentState: object({
      actionID: text,
      actionName: text,
      agentID: text,
      state: text,
      taskID: text,
      taskName: text,
    }),
    globalExecutionStop: time,
    globalTimeout: integer,
    state: text,
    tasks: listOf(
      object({
        "actions!": listOf(
          object({
            command: listOf(text),
            environment: mapOf(text),
            executionDuration: text,
            executionStart: time,
            executionStop: time,
            "id!": text,
            image: text,
            message: text,
            name: text,
            namespaces: object({ network: text, pid: text }),
            pid: text,
            state: text,
            timeout: integer,
            volumes: listOf(text),
          }),
        ),
        "agentID!": text,
        environment: mapOf(text),
        "id!": text,
        "name!": text,
        volumes: listOf(text),
      }),
    ),
    templateRendering: text,
  }),
});

export const hardwareV2: Schema = object({
  spec: object({
    agentID: text,
    arch: text,
    auto: object({ enrollmentEnabled: { type: "boolean", default: false } }),
    bmc: object({
      bootMode: { type: "string", enum: ["UEFI", "BIOS"], default: "UEFI" },
      connection: connectionV2,
    }),
    instance: anything,
    networkInterfaces: mapOf(anything),
    references: mapOf(resourceReference),
    storageDevices: listOf(object({ name: text })),
  }),
  status: object({
    conditions: listOf(
      object({
        lastUpdateTime: time,
        message: text,
        observedGeneration: integer,
        "status!": text,
        "type!": text,
      }),
    ),
  }),
});

const environment = object({ env: mapOf(text), templateMap: mapOf(text), volumes: listOf(text) });
const bothNames = {
  message: "name and namespace must both be specified or both be empty",
  holds: ({ name, namespace }: { readonly [field: string]: unknown }) => Boolean(name) === Boolean(namespace),
};
const optionalReference = object({ name: text, namespace: text }, { rules: [bothNames] });

const metadata = object({
  agentID: text,
  endTime: time,
  executionDuration: text,
  hardware: text,
  id: text,
  name: text,
  startTime: time,
  state: integer,
});

export const workflowV2: Schema = object({
  spec: object({
    disabled: flag,
    globals: environment,
    references: mapOf(resourceReference),
    tasks: listOf(
      object({
        agentID: text,
        extra: environment,
        hardware: object(
          {
            bootOptions: object({
              bootMode: oneOf("netboot", "isoboot", "customboot"),
              customboot: object({ postOperations: listOf(operationV2), preOperations: listOf(operationV2) }),
              isoURL: uri,
              toggleNetboot: flag,
            }),
            hardwareRef: optionalReference,
          },
          {
            rules: [
              {
                message: "hardwareRef is required when bootOptions is set",
                holds: (self) => self["bootOptions"] === undefined || self["hardwareRef"] !== undefined,
              },
            ],
          },
        ),
        taskRef: optionalReference,
        timeoutSeconds: integer,
      }),
    ),
    timeoutSeconds: integer,
    vars: mapOf(text),
  }),
  status: object({
    bootOptions: bootProgress,
    conditions,
    globalExecutionStop: time,
    globalTimeout: integer,
    metadata: object({ action: metadata, task: metadata, workflow: metadata }),
    renderedTasks: listOf(
      object({
        "actions!": listOf(
          object({
            actionMetadata: metadata,
            args: listOf(text),
            background: flag,
            command: matching("^(/[^/ ]*)+$"),
            env: mapOf(text),
            if: text,
            "image!": text,
            "name!": text,
            namespaces: object({ network: text, pid: text }),
            retries: { type: "integer", minimum: 0 },
            timeoutSeconds: integer,
            volumes: listOf(text),
          }),
        ),
        env: mapOf(text),
        "name!": text,
        taskMetadata: metadata,
        volumes: listOf(text),
      }),
    ),
  }),
});
