import { describe, expect, it } from "vitest";
import {
  collection,
  refusal,
  SYSTEM,
  type TreeAnswer,
  type TreeRequest,
  treeLab,
  treeOf,
} from "../../../../support/redfish-tree.ts";

const signal = new AbortController().signal;
const PXE_ONCE = { device: "pxe", persistent: false, mode: "keep" } as const;
const NO_OVERRIDE = { device: "none", persistent: false, mode: "keep" } as const;

const BOOT = {
  BootSourceOverrideEnabled: "Disabled",
  BootSourceOverrideTarget: "None",
  BootSourceOverrideMode: "UEFI",
  BootOrder: ["a", "b"],
};

type Tree = ReturnType<typeof treeOf>;

/** Takes a PATCH of `Boot` as it is. */
function takeBoot(tree: Tree, { path, body }: TreeRequest): TreeAnswer {
  const resource = tree[path];
  if (resource) resource["Boot"] = { ...Object(resource["Boot"]), ...Object(body).Boot };
  return [204];
}

describe("the boot override is written", () => {
  const SETTINGS = `${SYSTEM}/Settings`;
  const withSettings = (settings: Readonly<Record<string, unknown>>) => ({
    ...treeOf({ Boot: BOOT, "@Redfish.Settings": { SettingsObject: { "@odata.id": SETTINGS } } }),
    [SETTINGS]: { "@odata.id": SETTINGS, Boot: settings },
  });

  it.each([
    ["a boot order alone", { BootOrder: ["a"] }],
    ["a URI for HTTP boot", { HttpBootUri: "", BootOrder: ["a"] }],
    ["a mode without a target", { BootSourceOverrideMode: "UEFI" }],
  ])("to the system if its settings have %s", async (_, settings) => {
    const tree = withSettings(settings);
    await using lab = await treeLab(tree, (request) =>
      request.method === "PATCH" ? takeBoot(tree, request) : undefined,
    );

    await lab.client.setBoot(PXE_ONCE, signal);

    expect(lab.writes().map(([, path]) => path)).toEqual([SYSTEM]);
  });

  it("to settings that have the target, and to the system if these refuse it", async () => {
    const tree = withSettings({ BootSourceOverrideTarget: "None" });
    await using lab = await treeLab(tree, (request) => {
      if (request.method !== "PATCH") return undefined;
      const isSettings = request.path === SETTINGS;
      return isSettings ? [400, refusal("Base.1.8.PropertyUnknown", "no")] : takeBoot(tree, request);
    });

    await lab.client.setBoot(PXE_ONCE, signal);
    await lab.client.setBoot(NO_OVERRIDE, signal);

    expect(lab.writes().map(([, path]) => path)).toEqual([SETTINGS, SYSTEM, SYSTEM]);
  });

  it("with the mode that the system has where a refusal names it as missing, from then on at once", async () => {
    const tree = treeOf({ Boot: { ...BOOT, BootSourceOverrideEnabled: "Continuous" } });
    await using lab = await treeLab(tree, (request) => {
      if (request.method !== "PATCH") return undefined;
      if (Object(request.body).Boot.BootSourceOverrideMode) return takeBoot(tree, request);
      return [400, refusal("Base.1.8.PropertyMissing", "It must be included.", "BootSourceOverrideMode")];
    });

    await lab.client.setBoot(NO_OVERRIDE, signal);
    await lab.client.setBoot(PXE_ONCE, signal);

    expect(lab.writes().map(([, , body]) => Object(body).Boot.BootSourceOverrideMode)).toEqual([
      undefined,
      "UEFI",
      "UEFI",
    ]);
  });

  it("once more with If-Match where it was accepted and dropped", async () => {
    const tree = treeOf({ Boot: BOOT, "@odata.etag": '"1"' });
    await using lab = await treeLab(tree, (request) => {
      if (request.method !== "PATCH") return undefined;
      return request.headers["if-match"] === undefined ? [204] : takeBoot(tree, request);
    });

    expect(await lab.client.setBoot(PXE_ONCE, signal)).toMatchObject({ after: { device: "pxe" } });

    expect(lab.writes()).toHaveLength(2);
  });
});

describe("of several systems", () => {
  const HOST = "/redfish/v1/Systems/System_0";
  const BOARD = "/redfish/v1/Systems/HGX_Baseboard_0";
  const { [SYSTEM]: host } = treeOf({ "@odata.id": HOST, Id: "System_0" });
  const both = (board: Readonly<Record<string, unknown>>) => ({
    "/redfish/v1/Systems": collection(BOARD, HOST),
    [HOST]: host ?? {},
    [BOARD]: { "@odata.id": BOARD, Id: "HGX_Baseboard_0", PowerState: "Off", ...board },
  });

  it("the one that can be reset is meant, and the note names the other", async () => {
    await using lab = await treeLab(both({}));

    expect(await lab.client.getPower(signal)).toBe("on");

    expect(lab.client.note).toBe(`system ${HOST}, not ${BOARD}`);
  });

  it("none is chosen if each can be reset", async () => {
    await using lab = await treeLab(both({ Actions: host?.["Actions"] }));

    await expect(lab.client.getPower(signal)).rejects.toMatchObject({
      class: "usage",
      message: expect.stringContaining(`one of ${BOARD}, ${HOST}`),
    });
  });
});

describe("a task", () => {
  const TASK = "/redfish/v1/TaskService/Tasks/7";
  const FAILED = {
    TaskState: "Exception",
    Messages: [{ MessageId: "Base.1.8.AccessDenied", Message: "No." }],
  };

  it.each<[string, TreeAnswer]>([
    ["its body", [202, { "@odata.id": TASK, TaskState: "New" }]],
    ["a Location that is gone, and its body", [202, { "@odata.id": TASK }, { location: "/gone/1" }]],
  ])("is followed by %s; if it failed, so did the change, and no login", async (_, answer) => {
    const tree = { ...treeOf({ Boot: BOOT }), [TASK]: { "@odata.id": TASK, ...FAILED } };
    await using lab = await treeLab(tree, (request) => {
      if (request.method !== "PATCH") return undefined;
      takeBoot(tree, request);
      return answer;
    });

    await expect(lab.client.setBoot(PXE_ONCE, signal)).rejects.toMatchObject({
      class: "bmc",
      message: `redfish: task ${TASK} ended as Exception: No. (Base.1.8.AccessDenied)`,
    });
    expect(lab.writes()).toHaveLength(1);
  });

  it("that the BMC does not have is no success where nothing else shows the result", async () => {
    const tree = treeOf({});
    Object(tree[SYSTEM]?.["Actions"])["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"].push(
      "Nmi",
    );
    await using lab = await treeLab(tree, ({ method }) =>
      method === "POST" ? [202, undefined, { location: TASK }] : undefined,
    );

    await expect(lab.client.sendNmi(signal)).rejects.toMatchObject({
      class: "verify",
      message: expect.stringContaining("not sent again"),
    });
  });

  it("is looked at with growing pauses, however soon the BMC asks for it", async () => {
    const tree = { ...treeOf({}), [TASK]: { TaskState: "Running" } };
    let polls = 0;
    await using lab = await treeLab(tree, ({ method, path }) => {
      if (method === "POST") return [202, undefined, { location: TASK, "retry-after": "0" }];
      if (path !== TASK) return undefined;
      polls += 1;
      return [202, {}, { "retry-after": "0" }];
    });

    const off = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 1_000 } as const;
    await expect(lab.client.setPower(off, signal)).rejects.toThrow();

    // For 120 s about once per second, after the first few.
    expect(polls).toBeLessThan(240);
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("an object with other properties only", () => {
  const MANAGER = "/redfish/v1/Managers/1";
  const CHASSIS = "/redfish/v1/Chassis/1";
  const links = { Links: { ManagedBy: [{ "@odata.id": MANAGER }], Chassis: [{ "@odata.id": CHASSIS }] } };

  it.each([
    ["a reading of the power", { PowerLimitWatts: { Reading: 74.6 } }, {}],
    ["what happens beyond a limit", {}, { PowerControl: [{ PowerLimit: { LimitException: "NoAction" } }] }],
  ])("is no power limit (%s)", async (_, metrics, power) => {
    await using lab = await treeLab({
      ...treeOf(links),
      [CHASSIS]: {
        EnvironmentMetrics: { "@odata.id": `${CHASSIS}/Metrics` },
        Power: { "@odata.id": `${CHASSIS}/Power` },
      },
      [`${CHASSIS}/Metrics`]: metrics,
      [`${CHASSIS}/Power`]: power,
    });

    await expect(lab.client.getPowerLimit(signal)).rejects.toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC offers no power limit",
    });
  });

  it("is neither NTP nor a VLAN", async () => {
    await using lab = await treeLab({
      ...treeOf(links),
      "/redfish/v1": {},
      [MANAGER]: {
        NetworkProtocol: { "@odata.id": `${MANAGER}/NetworkProtocol` },
        EthernetInterfaces: { "@odata.id": `${MANAGER}/EthernetInterfaces` },
      },
      [`${MANAGER}/NetworkProtocol`]: { NTP: { Port: 123 } },
      [`${MANAGER}/EthernetInterfaces`]: collection(`${MANAGER}/EthernetInterfaces/1`),
      [`${MANAGER}/EthernetInterfaces/1`]: { Id: "1", HostName: "bmc", VLAN: { VLANPriority: 0 } },
    });

    await expect(lab.client.getNtp(signal)).rejects.toMatchObject({ class: "unsupported" });
    expect(await lab.client.listNetwork(signal)).toEqual([{ id: "1", hostName: "bmc" }]);
  });
});
