import { describe, expect, test } from "vitest";
import type { BmcClient } from "../../../../../shared/bmc/client.ts";
import { parseBiosRegistry } from "../../../../../shared/bmc/providers/redfish/drivers/bios-registry.ts";
import { Secret } from "../../../../../shared/secret.ts";
import type { Fault } from "../../../../../simulators/redfish/faults.ts";
import { redfishLab } from "../../../../support/bmc-lab.ts";
import {
  collection,
  refusal,
  SYSTEM,
  type TreeAnswer,
  type TreeRequest,
  treeLab,
  treeOf,
} from "../../../../support/redfish-tree.ts";

type Tree = ReturnType<typeof treeOf>;
type Hook = (request: TreeRequest) => TreeAnswer | undefined;

const signal = new AbortController().signal;
const MANAGER = "/redfish/v1/Managers/1";
const MEDIA = `${MANAGER}/VirtualMedia`;
const IMAGE = "http://192.0.2.9/a.iso";
const PXE_UEFI = { device: "pxe", persistent: false, mode: "uefi" } as const;
const NO_OVERRIDE = { device: "none", persistent: false, mode: "keep" } as const;
/** With the pauses between them, more than a minute. */
const REFUSALS = 11;
const GENERAL = "Base.1.8.GeneralError";

/** Runs `use` against a served tree; what it resolves to or the message of its error, and the writes. */
async function run(
  tree: Tree,
  hook: Hook,
  use: (client: BmcClient) => Promise<{ readonly summary: string }>,
  redfish: Readonly<Record<string, unknown>> = {},
) {
  await using lab = await treeLab(tree, hook, redfish);
  const said = await use(lab.client).then(
    ({ summary }) => summary,
    (error: Error) => error.message,
  );
  await lab.client.close();
  const writes = lab.writes();
  return { said, writes, bodies: writes.map(([, , body]) => Object(body)), requests: lab.requests };
}

const withManager = (system: object, manager: object = {}): Tree => ({
  ...treeOf({ ...system, Links: { ManagedBy: [{ "@odata.id": MANAGER }] } }),
  "/redfish/v1/Managers": collection(MANAGER),
  [MANAGER]: { "@odata.id": MANAGER, Id: "1", ...manager },
});

/** A machine with empty virtual drives of these names. */
function mediaTree(...names: readonly string[]): Tree {
  const tree = withManager({}, { VirtualMedia: { "@odata.id": MEDIA } });
  tree[MEDIA] = collection(...names.map((name) => `${MEDIA}/${name}`));
  for (const name of names) {
    const path = `${MEDIA}/${name}`;
    const actions = ["InsertMedia", "EjectMedia"].map((action) => [
      `#VirtualMedia.${action}`,
      { target: `${path}/Actions/VirtualMedia.${action}` },
    ]);
    tree[path] = {
      "@odata.id": path,
      Id: name,
      MediaTypes: ["CD", "DVD"],
      Image: null,
      Inserted: false,
      Actions: Object.fromEntries(actions),
    };
  }
  return tree;
}

/** The drive's name, if the request is this action of it. */
const driveOf = ({ method, path }: TreeRequest, action: string) =>
  method === "POST" && path.endsWith(`VirtualMedia.${action}`) ? path.split("/").at(-3) : undefined;

function putIn(tree: Tree, drive: string | undefined, image: unknown): TreeAnswer {
  Object.assign(tree[`${MEDIA}/${drive}`] ?? {}, { Image: image, Inserted: image !== null });
  return [204];
}

const insert = (client: BmcClient) => client.insertMedia(IMAGE, signal);
const lacks = (name: string) =>
  [
    400,
    refusal("Base.1.8.ActionParameterMissing", `The parameter ${name} is required.`, "InsertMedia", name),
  ] as const;

describe("an image is inserted although", () => {
  test.each<[title: string, hook: (tree: Tree) => Hook, bodies: readonly object[]]>([
    [
      "RW040: the BMC wants a name and a password for the image server",
      (tree) => (request) => {
        const drive = driveOf(request, "InsertMedia");
        if (drive === undefined) return undefined;
        const { UserName, Password, Image } = Object(request.body);
        if (!UserName) return lacks("UserName");
        return Password ? putIn(tree, drive, Image) : lacks("Password");
      },
      [
        { Image: IMAGE },
        { Image: IMAGE, UserName: "none" },
        { Image: IMAGE, UserName: "none", Password: "none" },
      ],
    ],
    [
      "RW048: MediaType is required, as a message beside the property says",
      (tree) => (request) => {
        const drive = driveOf(request, "InsertMedia");
        if (drive === undefined) return undefined;
        const { MediaType, Image } = Object(request.body);
        const message = { MessageId: "Base.1.8.PropertyMissing", MessageArgs: ["MediaType"] };
        return MediaType ? putIn(tree, drive, Image) : [400, { "MediaType@Message.ExtendedInfo": [message] }];
      },
      [{ Image: IMAGE }, { Image: IMAGE, MediaType: "CD" }],
    ],
    [
      "RW042: the first drives refuse every image without a reason",
      (tree) => (request) => {
        const drive = driveOf(request, "InsertMedia");
        if (drive === undefined) return undefined;
        const { Image } = Object(request.body);
        return drive === "2" ? putIn(tree, drive, Image) : [400, refusal(GENERAL, "Not on this device.")];
      },
      [{ Image: IMAGE }, { Image: IMAGE }],
    ],
    [
      "RW041: the BMC answers 500 while an ejection goes on",
      (tree) => {
        let isBusy = true;
        return (request) => {
          const drive = driveOf(request, "InsertMedia");
          if (drive === undefined) return undefined;
          if (!isBusy) return putIn(tree, drive, Object(request.body).Image);
          isBusy = false;
          return [500, refusal("Base.1.8.InternalError", "An internal error.")];
        };
      },
      [{ Image: IMAGE }, { Image: IMAGE }],
    ],
    [
      "RW043: its action is listed and not served, and the drive takes a PATCH, which changes no connection",
      (tree) => (request) => {
        if (request.method === "PATCH") {
          Object.assign(tree[request.path] ?? {}, { ConnectedVia: "NotConnected" });
          return putIn(tree, request.path.split("/").at(-1), Object(request.body).Image);
        }
        return driveOf(request, "InsertMedia") ? [404, {}] : undefined;
      },
      [{ Image: IMAGE }, { Image: IMAGE }, { Image: IMAGE, Inserted: true }],
    ],
    [
      "RW043: the action did what it answers 404 to, and no other drive gets it",
      (tree) => (request) => {
        const drive = driveOf(request, "InsertMedia");
        if (drive === undefined) return undefined;
        putIn(tree, drive, Object(request.body).Image);
        return [404, {}];
      },
      [{ Image: IMAGE }],
    ],
  ])("%s", async (_, hook, bodies) => {
    const tree = mediaTree("1", "2");

    const { said, bodies: sent } = await run(tree, hook(tree), insert);

    expect(said).toBe(`media ${IMAGE} inserted`);
    expect(sent).toEqual(bodies);
  });

  test("RW044: the BMC unmounts it with the session that inserted it: the session stays open", async () => {
    const tree = mediaTree("1");
    let sessions = 0;
    let by: unknown;
    const hook: Hook = (request) => {
      const { method, path, headers, body } = request;
      if (method === "POST" && path.endsWith("/Sessions")) {
        sessions += 1;
        return [201, {}, { "x-auth-token": `t${sessions}`, location: `${path}/${sessions}` }];
      }
      if (method === "DELETE") {
        if (by === `t${path.split("/").at(-1)}`) putIn(tree, "1", null);
        return [204];
      }
      const drive = driveOf(request, "InsertMedia");
      if (drive === undefined) return undefined;
      by = headers["x-auth-token"];
      return putIn(tree, drive, Object(body).Image);
    };

    const { said } = await run(tree, hook, insert, { auth: "session" });

    expect(said).toBe(`media ${IMAGE} inserted, until its login session ends, which is left open`);
    expect(tree[`${MEDIA}/1`]?.["Image"]).toBe(IMAGE);
  });

  test("RW044: a BMC that keeps it without the session sees a logout at the end", async () => {
    const tree = mediaTree("1");
    const hook: Hook = (request) => {
      if (request.path.endsWith("/Sessions"))
        return [201, {}, { "x-auth-token": "t", location: `${request.path}/1` }];
      if (request.method === "DELETE") return [204];
      const drive = driveOf(request, "InsertMedia");
      return drive === undefined ? undefined : putIn(tree, drive, Object(request.body).Image);
    };

    const { said, writes } = await run(tree, hook, insert, { auth: "session" });

    expect(said).toBe(`media ${IMAGE} inserted`);
    expect(writes.map(([method]) => method)).toEqual(["POST", "POST", "DELETE", "POST", "DELETE"]);
  });

  test("RW051: an ejection by PATCH is sent with Image alone if Inserted is refused", async () => {
    const tree = mediaTree("1");
    Object.assign(tree[`${MEDIA}/1`] ?? {}, { Image: IMAGE, Inserted: true, Actions: {} });
    const hook: Hook = ({ method, body }) => {
      if (method !== "PATCH") return undefined;
      const isRefused = "Inserted" in Object(body);
      return isRefused
        ? [400, refusal("Base.1.8.PropertyUnknown", "no", "Inserted")]
        : putIn(tree, "1", null);
    };

    const { said, bodies } = await run(tree, hook, (client) => client.ejectMedia(signal));

    expect(said).toBe("media ejected");
    expect(bodies).toEqual([{ Image: null, Inserted: false }, { Image: null }]);
  });
});

const BOOT = {
  BootSourceOverrideEnabled: "Disabled",
  BootSourceOverrideTarget: "None",
  BootSourceOverrideMode: "UEFI",
};
const SETTINGS = `${SYSTEM}/Settings`;

/** Takes `Boot` of a PATCH, changed by `keep`. */
function takeBoot(
  tree: Tree,
  { path, body }: TreeRequest,
  keep: (boot: object) => object = (boot) => boot,
): TreeAnswer {
  const resource = tree[path] ?? {};
  resource["Boot"] = keep({ ...Object(resource["Boot"]), ...Object(body).Boot });
  return [204];
}

describe("a boot override is set although", () => {
  const asUefiBootNext = (boot: object) => ({ ...boot, BootSourceOverrideTarget: "UefiBootNext" });

  test.each<[title: string, tree: Tree, hook: (tree: Tree) => Hook, said: string, paths: readonly string[]]>([
    [
      "RW016: the BMC shows the boot option that it chose for the device",
      treeOf({ Boot: BOOT }),
      (tree) => (request) =>
        request.method === "PATCH" ? takeBoot(tree, request, asUefiBootNext) : undefined,
      "boot pxe once (uefi), shown as UefiBootNext",
      [SYSTEM],
    ],
    [
      "RW017: only the settings resource has the override",
      {
        ...treeOf({
          Boot: { BootOrder: [] },
          "@Redfish.Settings": { SettingsObject: { "@odata.id": SETTINGS } },
        }),
        [SETTINGS]: { "@odata.id": SETTINGS, Boot: BOOT },
      },
      (tree) => (request) => (request.method === "PATCH" ? takeBoot(tree, request) : undefined),
      "boot pxe once (uefi)",
      [SETTINGS],
    ],
    [
      "RW017: the reference to the settings resource has no path",
      { ...treeOf({ "@Redfish.Settings": {} }), [SETTINGS]: { "@odata.id": SETTINGS, Boot: BOOT } },
      (tree) => (request) => (request.method === "PATCH" ? takeBoot(tree, request) : undefined),
      "boot pxe once (uefi)",
      [SETTINGS],
    ],
    [
      "RW033: the system shows it as read-only, and names no settings resource",
      { ...treeOf({ Boot: BOOT }), [SETTINGS]: { "@odata.id": SETTINGS, Boot: BOOT } },
      (tree) => (request) => {
        if (request.method !== "PATCH") return undefined;
        if (request.path === SYSTEM) return [400, refusal("Base.1.8.PropertyNotWritable", "no", "Boot")];
        takeBoot(tree, { ...request, path: SYSTEM });
        return takeBoot(tree, request);
      },
      "boot pxe once (uefi)",
      [SYSTEM, SETTINGS],
    ],
    [
      "RW075: the BMC wants If-Match, and the system has no tag",
      treeOf({ Boot: BOOT }),
      (tree) => (request) => {
        if (request.method !== "PATCH") return undefined;
        return request.headers["if-match"] === "*" ? takeBoot(tree, request) : [428, {}];
      },
      "boot pxe once (uefi)",
      [SYSTEM, SYSTEM],
    ],
    [
      "RW076: the BMC takes its tag without quotes only",
      treeOf({ Boot: BOOT, "@odata.etag": 'W/"abc"' }),
      (tree) => (request) => {
        if (request.method !== "PATCH") return undefined;
        const tag = request.headers["if-match"];
        if (tag === undefined) return [428, {}];
        return tag === "abc" ? takeBoot(tree, request) : [412, {}];
      },
      "boot pxe once (uefi)",
      [SYSTEM, SYSTEM, SYSTEM, SYSTEM, SYSTEM],
    ],
    [
      "RW082: Lenovo takes one form of its tag, and nothing without one",
      treeOf({ Boot: BOOT, Manufacturer: "Lenovo", "@odata.etag": 'W/"abc"' }),
      (tree) => (request) => {
        if (request.method !== "PATCH") return undefined;
        const tag = request.headers["if-match"];
        if (tag === undefined) return [428, {}];
        return tag === '"abc"' ? takeBoot(tree, request) : [412, {}];
      },
      "boot pxe once (uefi)",
      [SYSTEM, SYSTEM, SYSTEM, SYSTEM, SYSTEM],
    ],
    [
      "RW121: writes are redirected to the path with a slash at its end",
      treeOf({ Boot: BOOT }),
      (tree) => {
        let isFirst = true;
        return (request) => {
          if (request.method !== "PATCH") return undefined;
          if (!isFirst) return takeBoot(tree, request);
          isFirst = false;
          return [301, {}, { location: `${SYSTEM}/` }];
        };
      },
      "boot pxe once (uefi)",
      [SYSTEM, SYSTEM],
    ],
    [
      "RW021: the mode waits in a job for the next boot, which the result says",
      {
        ...treeOf({ Boot: { ...BOOT, BootSourceOverrideMode: "Legacy" } }),
        "/redfish/v1/J/1": { TaskState: "Pending" },
      },
      (tree) => (request) => {
        if (request.method !== "PATCH") return undefined;
        takeBoot(tree, request, (boot) => ({ ...boot, BootSourceOverrideMode: "Legacy" }));
        return [202, { TaskState: "Pending" }, { location: "/redfish/v1/J/1" }];
      },
      "boot pxe once (legacy); mode uefi waits for the next boot in /redfish/v1/J/1 (Pending)",
      [SYSTEM],
    ],
  ])("%s", async (_, tree, hook, said, paths) => {
    const result = await run(tree, hook(tree), (client) => client.setBoot(PXE_UEFI, signal));

    expect(result.said).toBe(said);
    expect(result.writes.map(([, path]) => path)).toEqual(paths);
  });

  test.each([
    ["Disabled alone", { BootSourceOverrideEnabled: "Disabled" }],
    ["None alone", { BootSourceOverrideTarget: "None" }],
    ["Disabled with Pxe", { BootSourceOverrideTarget: "Pxe", BootSourceOverrideEnabled: "Disabled" }],
  ])("RW036: it is taken back by %s alone of all forms, whatever the make", async (_, form) => {
    const tree = treeOf({
      Boot: { ...BOOT, BootSourceOverrideEnabled: "Once", BootSourceOverrideTarget: "Hdd" },
    });
    const hook: Hook = (request) => {
      if (request.method !== "PATCH") return undefined;
      const isForm = JSON.stringify(Object(request.body).Boot) === JSON.stringify(form);
      return isForm ? takeBoot(tree, request) : [400, refusal(GENERAL, "no")];
    };

    const { said, bodies } = await run(tree, hook, (client) => client.setBoot(NO_OVERRIDE, signal));

    expect(said).toBe("boot none");
    expect(bodies.at(-1)).toEqual({ Boot: form });
  });

  test.each([
    ["RW019: UsbCd on most boards", "SYS-221H", "UsbCd", "boot cdrom once (uefi), shown as UsbCd"],
    ["RW019: Cd on the board that boots from it alone", "ARS-111GL-NHR", "Cd", "boot cdrom once (uefi)"],
  ])("Supermicro's virtual media boot otherwise: %s", async (_, Model, target, said) => {
    const listed = { "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Cd", "UsbCd"] };
    const tree = treeOf({ Manufacturer: "Supermicro", Model, Boot: { ...BOOT, ...listed } });
    const hook: Hook = (request) => (request.method === "PATCH" ? takeBoot(tree, request) : undefined);

    const result = await run(tree, hook, (client) =>
      client.setBoot({ ...PXE_UEFI, device: "cdrom" }, signal),
    );

    expect(result.said).toBe(said);
    expect(result.bodies[0].Boot.BootSourceOverrideTarget).toBe(target);
  });

  test.each([
    [
      "5.10.00.00",
      "boot cdrom once (uefi); iDRAC 5.10.00.00 boots the drive in the machine so, not its virtual media",
    ],
    ["7.10.30.00", "boot cdrom once (uefi)"],
  ])("RW020: on iDRAC %s the result says which drive Cd is", async (FirmwareVersion, said) => {
    const tree = withManager({ Manufacturer: "Dell Inc.", Boot: BOOT }, { FirmwareVersion });
    const hook: Hook = (request) => (request.method === "PATCH" ? takeBoot(tree, request) : undefined);

    const result = await run(tree, hook, (client) =>
      client.setBoot({ ...PXE_UEFI, device: "cdrom" }, signal),
    );

    expect(result.said).toBe(said);
  });
});

const ACCOUNTS = "/redfish/v1/AccountService/Accounts";

function accountTree(...accounts: readonly object[]): Tree {
  const paths = accounts.map((_, index) => `${ACCOUNTS}/${index + 2}`);
  const tree: Tree = { ...treeOf({}), [ACCOUNTS]: collection(...paths) };
  accounts.forEach((account, index) => {
    tree[`${ACCOUNTS}/${index + 2}`] = { Id: `${index + 2}`, ...account };
  });
  return tree;
}

/** Keeps a PATCH of an account without its password, and refuses POST. */
const takeAccount =
  (tree: Tree): Hook =>
  ({ method, path, body }) => {
    if (method === "POST" && path === ACCOUNTS) return [405, {}];
    if (method !== "PATCH") return undefined;
    const { Password: _, ...rest } = Object(body);
    Object.assign(tree[path] ?? {}, rest);
    return [200, {}];
  };

describe("accounts:", () => {
  const root = { UserName: "admin", RoleId: "Administrator", Enabled: true };
  const free = { UserName: "", RoleId: "None", Enabled: false };
  const ops = { UserName: "ops", RoleId: "ReadOnly", Enabled: true };
  const password = new Secret("ops-Secret-1");
  const created = (client: BmcClient) => client.putUser({ name: "ops", role: "operator", password }, signal);
  const patched = (writes: readonly (readonly [string, string, unknown])[]) =>
    writes.filter(([method]) => method === "PATCH").map(([, path]) => path.split("/").at(-1));

  test.each([
    ["without a name, enabled", { RoleId: "Administrator", Enabled: true }],
    ["with an empty name, enabled", { UserName: "", RoleId: "Administrator", Enabled: true }],
    ["without a name, not known whether enabled", { RoleId: "Administrator" }],
  ])("RW096: one %s is not free", async (_, nameless) => {
    const tree = accountTree(root, nameless, free);

    const { writes } = await run(tree, takeAccount(tree), created);

    expect(patched(writes)).toEqual(["4"]);
  });

  test("RW099: the next free slot is filled if the first refuses", async () => {
    const tree = accountTree(root, free, free);
    const take = takeAccount(tree);
    const hook: Hook = (request) =>
      request.method === "PATCH" && request.path.endsWith("/3")
        ? [400, refusal(GENERAL, "no")]
        : take(request);

    const { said, writes } = await run(tree, hook, created);

    expect(said).toContain("user ops created as operator");
    expect(patched(writes)).toEqual(["3", "4"]);
  });

  test("RW099: no other slot is tried for a password that is refused", async () => {
    const tree = accountTree(root, free, free);
    const take = takeAccount(tree);
    const hook: Hook = (request) =>
      request.method === "PATCH"
        ? [400, refusal("Base.1.8.PropertyValueError", "no", "Password")]
        : take(request);

    const { writes } = await run(tree, hook, created);

    expect(patched(writes)).toEqual(["3"]);
  });

  test("RW097: a role is sent with the password beside it where the BMC wants that", async () => {
    const tree = accountTree(root, ops);
    const take = takeAccount(tree);
    const hook: Hook = (request) => {
      const body = Object(request.body);
      const isAlone = request.method === "PATCH" && "RoleId" in body && !body.Password;
      return isAlone ? [400, refusal("IDRAC.2.8.SYS428", "The property Password is empty.")] : take(request);
    };

    const { said, bodies } = await run(tree, hook, created);

    expect(said).toContain("user ops updated as operator");
    expect(bodies.filter((body) => body.RoleId).map((body) => "Password" in body)).toEqual([false, true]);
  });

  test("RW097: a refused role after a new password says that the password is set", async () => {
    const tree = accountTree(root, ops);
    const take = takeAccount(tree);
    const hook: Hook = (request) =>
      request.method === "PATCH" && "RoleId" in Object(request.body)
        ? [400, refusal(GENERAL, "no")]
        : take(request);

    const { said } = await run(tree, hook, created);

    expect(said).toContain("the password is set");
  });

  test("RW098: a slot is cleared in two steps if both at once are refused", async () => {
    const tree = accountTree(root, ops);
    const take = takeAccount(tree);
    const hook: Hook = (request) => {
      if (request.method === "DELETE") return [405, {}];
      return Object.keys(Object(request.body)).length > 1 ? [400, refusal(GENERAL, "no")] : take(request);
    };

    const { said, bodies } = await run(tree, hook, (client) => client.deleteUser("ops", signal));

    expect(said).toContain("user ops");
    expect(bodies.slice(1)).toEqual([{ UserName: "", Enabled: false }, { Enabled: false }, { UserName: "" }]);
  });
});

describe("settings:", () => {
  test("RW064: the login goes where the service root says that sessions are", async () => {
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1": { Links: { Sessions: { "@odata.id": "/redfish/v1/Sessions" } } },
    };
    const hook: Hook = ({ method, path }) => {
      if (method === "DELETE") return [204];
      if (path !== "/redfish/v1/Sessions") return undefined;
      return [201, {}, { "x-auth-token": "t", location: `${path}/7` }];
    };
    const power = async (client: BmcClient) => ({ summary: await client.getPower(signal) });

    const { said, writes } = await run(tree, hook, power, { auth: "session" });

    expect(said).toBe("on");
    expect(writes.map(([method, path]) => `${method} ${path}`)).toEqual([
      "POST /redfish/v1/SessionService/Sessions",
      "POST /redfish/v1/Sessions",
      "DELETE /redfish/v1/Sessions/7",
    ]);
  });

  test("RW107: of two systems that can be reset, the only one with a boot override is the host", async () => {
    const HOST = "/redfish/v1/Systems/Host";
    const tree = treeOf({});
    tree[HOST] = { ...tree[SYSTEM], "@odata.id": HOST, Id: "Host", Boot: BOOT, PowerState: "Off" };
    tree["/redfish/v1/Systems"] = collection(SYSTEM, HOST);
    const power = async (client: BmcClient) => ({ summary: await client.getPower(signal) });

    const { said } = await run(tree, () => undefined, power);

    expect(said).toBe("off");
  });

  const SECURE_BOOT = `${SYSTEM}/SecureBoot`;
  const secureBootTree = (): Tree => ({
    ...treeOf({ SecureBoot: { "@odata.id": SECURE_BOOT } }),
    [SECURE_BOOT]: {
      SecureBootCurrentBoot: "Disabled",
      SecureBootMode: "UserMode",
      Actions: {
        "#SecureBoot.ResetKeys": {
          target: `${SECURE_BOOT}/Reset`,
          "ResetKeysType@Redfish.AllowableValues": ["DeletePK"],
        },
      },
    },
  });

  test("Secure Boot without a switch is shown, and cannot be set", async () => {
    const set = (client: BmcClient) => client.setSecureBoot(true, signal);

    const { said, writes } = await run(secureBootTree(), () => undefined, set);

    expect(said).toContain("it has no SecureBootEnable");
    expect(writes).toEqual([]);
  });

  test("keys of a Secure Boot without a switch can be reset", async () => {
    const hook: Hook = ({ method }) => (method === "POST" ? [204] : undefined);
    const reset = (client: BmcClient) => client.resetSecureBootKeys("delete-pk", undefined, signal);

    const { said } = await run(secureBootTree(), hook, reset);

    expect(said).toContain("deletion of the platform key accepted");
  });

  test.each([
    ["taken then", false, ["192.0.2.5"], true],
    ["refused then, too", true, ["192.0.2.250"], true],
  ])(
    "time servers that DHCP supplies are replaced once UseNTPServers is off, or put back: %s",
    async (_, refuses, servers) => {
      const NIC = `${MANAGER}/EthernetInterfaces/1`;
      const PROTOCOL = `${MANAGER}/NetworkProtocol`;
      const tree: Tree = {
        ...withManager(
          {},
          {
            EthernetInterfaces: { "@odata.id": `${MANAGER}/EthernetInterfaces` },
            NetworkProtocol: { "@odata.id": PROTOCOL },
          },
        ),
        [`${MANAGER}/EthernetInterfaces`]: collection(NIC),
        [NIC]: { "@odata.id": NIC, DHCPv4: { DHCPEnabled: true, UseNTPServers: true } },
        [PROTOCOL]: { "@odata.id": PROTOCOL, NTP: { ProtocolEnabled: true, NTPServers: ["192.0.2.250"] } },
      };
      const uses = () => Object(tree[NIC]?.["DHCPv4"]).UseNTPServers;
      const hook: Hook = ({ method, path, body }) => {
        if (method !== "PATCH") return undefined;
        if (path === NIC) Object.assign(Object(tree[NIC]?.["DHCPv4"]), Object(body).DHCPv4);
        else if (uses() || refuses)
          return [400, refusal("iLO.2.14.SNTPConfigurationManagedByDHCPAndIsReadOnly", "no")];
        else Object.assign(Object(tree[PROTOCOL]?.["NTP"]), Object(body).NTP);
        return [200, {}];
      };

      await run(tree, hook, (client) => client.setNtp({ enabled: true, servers: ["192.0.2.5"] }, signal));

      expect(Object(tree[PROTOCOL]?.["NTP"]).NTPServers).toEqual(servers);
      expect(uses()).toBe(refuses);
    },
  );

  test("RW025: an entry of the boot order with a title has the option's name", async () => {
    const OPTIONS = `${SYSTEM}/BootOptions`;
    const Boot = { BootOrder: ["Boot0019: Ubuntu"], BootOptions: { "@odata.id": OPTIONS } };
    const tree: Tree = {
      ...treeOf({ Boot }),
      [OPTIONS]: collection(`${OPTIONS}/19`),
      [`${OPTIONS}/19`]: { BootOptionReference: "Boot0019", DisplayName: "Ubuntu" },
    };
    await using lab = await treeLab(tree);

    const order = await lab.client.getBootOrder(signal);

    expect(order).toEqual([{ id: "Boot0019: Ubuntu", name: "Ubuntu" }]);
  });

  test("RW120: values with a shown name alone are checked by it", () => {
    const Attributes = [
      {
        AttributeName: "Turbo",
        Type: "Enumeration",
        Value: [{ ValueDisplayName: "On" }, { ValueName: "Off" }],
      },
    ];

    const registry = parseBiosRegistry({ RegistryEntries: { Attributes, Dependencies: [] } });

    expect(registry?.attributes.get("Turbo")?.values.map(({ name }) => name)).toEqual(["On", "Off"]);
  });

  test("a drive whose only volume has no level is free", async () => {
    const STORAGE = `${SYSTEM}/Storage`;
    const VOLUMES = `${STORAGE}/1/Volumes`;
    const link = (path: string) => ({ "@odata.id": path });
    const tree: Tree = {
      ...treeOf({ PowerState: "Off", Storage: link(STORAGE) }),
      [STORAGE]: collection(`${STORAGE}/1`),
      [`${STORAGE}/1`]: { Id: "1", Drives: [link(`${STORAGE}/1/Drives/0`)], Volumes: link(VOLUMES) },
      [`${STORAGE}/1/Drives/0`]: {
        Id: "0",
        Status: { State: "Enabled" },
        Links: { Volumes: [link(`${VOLUMES}/1`)] },
      },
      [VOLUMES]: collection(`${VOLUMES}/1`),
      [`${VOLUMES}/1`]: { Id: "1", RAIDType: "None", Links: { Drives: [link(`${STORAGE}/1/Drives/0`)] } },
    };
    const hook: Hook = ({ method, body }) => {
      if (method !== "POST") return undefined;
      tree[VOLUMES] = collection(`${VOLUMES}/9`);
      tree[`${VOLUMES}/9`] = { Id: "9", ...Object(body) };
      return [201, {}, { location: `${VOLUMES}/9` }];
    };
    const request = { volumes: [{ name: "os", level: "RAID0", drives: 1 }] } as const;

    const limits = { changeMs: 10_000, verifyMs: 10_000 };

    const { bodies } = await run(tree, hook, (client) => client.setRaid(request, limits, signal));

    expect(bodies).toEqual([
      { Name: "os", RAIDType: "RAID0", Links: { Drives: [link(`${STORAGE}/1/Drives/0`)] } },
    ]);
  });
});

describe("what is refused for more than a minute", () => {
  const limits = { timeoutMs: 300_000 };

  test.each<{
    readonly row: string;
    readonly fault: Omit<Fault, "kind">;
    readonly use: (client: BmcClient) => Promise<{ readonly changed: boolean }>;
  }>([
    {
      row: "RW001: On, 409 after a power-off",
      fault: { method: "POST", status: 409, messageId: "Base.1.12.ActionParameterValueConflict" },
      use: (client) => client.setPower({ verb: "on", ...limits }, signal),
    },
    {
      row: "RW022: a boot override, 400 during POST",
      fault: { method: "PATCH", status: 400, messageId: "iLO.2.14.UnableToModifyDuringSystemPOST" },
      use: (client) => client.setBoot(PXE_UEFI, signal),
    },
    {
      row: "RW090: BIOS attributes, 503",
      fault: { method: "PATCH", path: /Bios/, status: 503 },
      use: (client) =>
        client.setBios({ values: { ProcTurboMode: "Disabled" }, applyTime: "on-reset" }, signal),
    },
    {
      row: "NTP servers, 503",
      fault: { method: "PATCH", status: 503, messageId: "Base.1.8.ServiceTemporarilyUnavailable" },
      use: (client) => client.setNtp({ enabled: true, servers: ["192.0.2.5"] }, signal),
    },
  ])("is sent until it is taken: $row", async ({ fault, use }) => {
    await using lab = await redfishLab({ power: "off", powerOnMs: 0 });
    lab.bmc.fail({ kind: "refuse", times: REFUSALS, ...fault });

    const report = await use(lab.client);

    expect(report.changed).toBe(true);
    const { method } = fault;
    expect(lab.bmc.requests.filter((request) => request.method === method)).toHaveLength(REFUSALS + 1);
  });

  test("is sent for as long as the client is patient, and says that the BMC is busy", async () => {
    await using lab = await redfishLab({}, {}, {}, { busyMs: 10_000 });
    lab.bmc.fail({ kind: "refuse", method: "PATCH", status: 503, times: 99 });

    await expect(lab.client.setNtp({ enabled: true, servers: ["192.0.2.5"] }, signal)).rejects.toMatchObject({
      class: "busy",
    });
    // After 1, 2, 4 and the rest of 10 s, but for the jitter.
    expect(lab.bmc.requests.filter(({ method }) => method === "PATCH").length).toBeLessThan(7);
  });
});

test.each([400, 409])(
  "RW006: %i to a command whose state is reached is a success after a reading",
  async (status) => {
    await using lab = await redfishLab({ power: "off", powerOnMs: 0 });
    lab.bmc.fail({ kind: "gateway", method: "POST", status });

    const report = await lab.client.setPower({ verb: "on", timeoutMs: 60_000 }, signal);

    expect(report).toMatchObject({ after: "on", changed: true });
    expect(lab.bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  },
);

test("RW109: systems and managers are at their standard paths where the root has no links", async () => {
  const tree = { ...withManager({}, { FirmwareVersion: "1.2" }), "/redfish/v1": {} };
  await using lab = await treeLab(tree);

  expect([await lab.client.getPower(signal), (await lab.client.getInfo(signal)).firmware]).toEqual([
    "on",
    "1.2",
  ]);
});

test("RW132: a file is pushed by its name to the path that the BMC gives, wherever that is", async () => {
  const UPDATES = "/redfish/v1/UpdateService";
  const INVENTORY = `${UPDATES}/FirmwareInventory`;
  const tree: Tree = {
    ...treeOf({}),
    "/redfish/v1": {},
    [UPDATES]: { MultipartHttpPushUri: "/mfwupdate", FirmwareInventory: { "@odata.id": INVENTORY } },
    [INVENTORY]: collection(`${INVENTORY}/BMC`),
    [`${INVENTORY}/BMC`]: { Id: "BMC", Version: "1" },
  };
  await using lab = await treeLab(tree, ({ method }) => {
    if (method !== "POST") return undefined;
    tree[`${INVENTORY}/BMC`] = { Id: "BMC", Version: "2" };
    return [200, {}];
  });

  const image = { name: "R650_2.bin", content: new Blob(["the image"]) };
  const request = { image, targets: ["BMC"], version: "2", allowDowngrade: false };
  await lab.client.updateFirmware(request, { updateMs: 60_000, verifyMs: 60_000 }, signal);

  const [[, path, body] = []] = lab.writes();
  expect(path).toBe("/mfwupdate");
  expect(body).toContain('name="UpdateFile"; filename="R650_2.bin"');
});

describe("an update of the BMC", () => {
  const request = {
    image: { uri: "https://images.example/bmc-1.3.0.bin" },
    targets: ["BMC"],
    version: "1.3.0",
    allowDowngrade: false,
  };
  const limits = { updateMs: 600_000, verifyMs: 600_000 };

  test("RW135: is waited for while the BMC is gone for minutes", async () => {
    await using lab = await redfishLab();
    // On the client's clock, two and a half minutes.
    lab.bmc.update.restartMs = 3_000;

    const report = await lab.client.updateFirmware(request, limits, signal);

    expect(report).toMatchObject({ changed: true, after: [{ version: "1.3.0" }] });
    expect(lab.bmc.update.accepted).toBe(1);
  });

  test("RW136: without a task is proven by the version", async () => {
    const UPDATES = "/redfish/v1/UpdateService";
    const INVENTORY = `${UPDATES}/FirmwareInventory`;
    const target = `${UPDATES}/Actions/UpdateService.SimpleUpdate`;
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1": {},
      [UPDATES]: {
        Actions: { "#UpdateService.SimpleUpdate": { target } },
        FirmwareInventory: { "@odata.id": INVENTORY },
      },
      [INVENTORY]: collection(`${INVENTORY}/BMC`),
      [`${INVENTORY}/BMC`]: { Id: "BMC", Version: "1.2.3" },
    };
    await using lab = await treeLab(tree, ({ method }) => {
      if (method !== "POST") return undefined;
      setTimeout(() => Object.assign(tree[`${INVENTORY}/BMC`] ?? {}, { Version: "1.3.0" }), 300);
      return [200];
    });

    const report = await lab.client.updateFirmware(request, limits, signal);

    expect(report).toMatchObject({ changed: true, after: [{ version: "1.3.0" }] });
    expect(lab.writes()).toHaveLength(1);
  });
});

/** What an entry of the inventory that is not read at first looks like. */
const GAPS: readonly (readonly [string, (entry: string) => Hook | undefined])[] = [
  [
    "cannot be read",
    (entry) =>
      ({ path }) =>
        path === entry ? [500, refusal("Contoso.1.0.Broken", "Failed.")] : undefined,
  ],
  [
    "is missing, though it counts",
    (entry) =>
      ({ method, path }) => {
        const inventory = entry.replace(/\/[^/]+$/, "");
        if (method !== "GET" || path !== inventory) return undefined;
        return [200, { ...collection(`${inventory}/BIOS`), "Members@odata.count": 2 }];
      },
  ],
];

test.each(GAPS)(
  "an entry that %s before an update, and is there after it, was not installed",
  async (_, gap) => {
    const UPDATES = "/redfish/v1/UpdateService";
    const INVENTORY = `${UPDATES}/FirmwareInventory`;
    const target = `${UPDATES}/Actions/UpdateService.SimpleUpdate`;
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1": {},
      [UPDATES]: {
        Actions: { "#UpdateService.SimpleUpdate": { target } },
        FirmwareInventory: { "@odata.id": INVENTORY },
      },
      [INVENTORY]: collection(`${INVENTORY}/BMC`, `${INVENTORY}/BIOS`),
      [`${INVENTORY}/BMC`]: { Id: "BMC", Version: "1.2.3" },
      [`${INVENTORY}/BIOS`]: { Id: "BIOS", Version: "5.0" },
    };
    let hook = gap(`${INVENTORY}/BMC`);
    await using lab = await treeLab(tree, (request) => {
      if (request.method !== "POST") return hook?.(request);
      hook = undefined;
      return [204];
    });
    const image = { uri: "https://images.example/bmc.bin" };

    const updated = lab.client.updateFirmware(
      { image, targets: [], allowDowngrade: false },
      { updateMs: 10_000, verifyMs: 10_000 },
      signal,
    );

    await expect(updated).rejects.toMatchObject({ class: "verify" });
    expect(lab.writes()).toHaveLength(1);
  },
);

describe("RAID of makers:", () => {
  const STORAGE = `${SYSTEM}/Storage`;
  const VOLUMES = `${STORAGE}/b/Volumes`;
  const link = (path: string) => ({ "@odata.id": path });
  const raidTree = (...volumes: readonly object[]): Tree => ({
    ...treeOf({ PowerState: "Off", Storage: link(STORAGE) }),
    [STORAGE]: collection(`${STORAGE}/a`, `${STORAGE}/b`),
    [`${STORAGE}/a`]: { Id: "a", Drives: [link(`${STORAGE}/a/Drives/0`)] },
    [`${STORAGE}/b`]: { Id: "b", Drives: [link(`${STORAGE}/b/Drives/0`)], Volumes: link(VOLUMES) },
    [`${STORAGE}/b/Drives/0`]: { Id: "0", Status: { State: "Enabled" } },
    [VOLUMES]: collection(...volumes.map((_, index) => `${VOLUMES}/${index}`)),
    ...Object.fromEntries(
      volumes.map((volume, index) => [`${VOLUMES}/${index}`, { Id: `${index}`, ...volume }]),
    ),
  });
  const limits = { changeMs: 10_000, verifyMs: 10_000 };

  test("RW137: a volume is created by RAIDType and Links.Drives alone, without a size for the largest", async () => {
    const tree = raidTree();
    const hook: Hook = ({ method, body }) => {
      if (method !== "POST") return undefined;
      const unknown = ["VolumeType", "Encrypted", "CapacityBytes", "Drives"].find(
        (name) => name in Object(body),
      );
      if (unknown) return [400, refusal("Base.1.8.PropertyUnknown", `${unknown} is unknown`, unknown)];
      tree[VOLUMES] = collection(`${VOLUMES}/9`);
      tree[`${VOLUMES}/9`] = { Id: "9", ...Object(body) };
      return [201, {}, { location: `${VOLUMES}/9` }];
    };
    const request = { volumes: [{ name: "os", level: "RAID0", drives: 1 }] } as const;

    const { said, writes } = await run(tree, hook, (client) => client.setRaid(request, limits, signal));

    expect(said).toMatch(/^created: os \(RAID0\)/);
    expect(writes).toHaveLength(1);
  });

  test("RW138: a storage without Volumes is left out, and a deletion has no apply time that was not asked for", async () => {
    const tree = raidTree({
      Name: "data",
      RAIDType: "RAID0",
      Links: { Drives: [link(`${STORAGE}/b/Drives/0`)] },
      "@Redfish.OperationApplyTimeSupport": { SupportedValues: ["Immediate", "OnReset"] },
    });
    const hook: Hook = ({ method, body }) => {
      if (method !== "DELETE") return undefined;
      if (body !== undefined) return [400, refusal(GENERAL, "The request has a body.")];
      tree[VOLUMES] = collection();
      return [204];
    };

    const { said, writes } = await run(tree, hook, (client) =>
      client.clearRaid({ volumes: ["data"] }, limits, signal),
    );

    expect(said).toMatch(/data/);
    expect(writes).toEqual([["DELETE", `${VOLUMES}/0`, undefined]]);
  });
});

test("RW148: adapters that only EthernetInterfaces lists are in the inventory", async () => {
  const NICS = `${SYSTEM}/EthernetInterfaces`;
  const tree: Tree = {
    ...treeOf({ EthernetInterfaces: { "@odata.id": NICS } }),
    [NICS]: collection(`${NICS}/1`),
    [`${NICS}/1`]: { Id: "1", MACAddress: "02:00:00:00:00:01", SpeedMbps: 25_000 },
  };
  await using lab = await treeLab(tree);

  expect((await lab.client.getHardware(signal)).nics).toMatchObject([{ mac: "02:00:00:00:00:01" }]);
});

describe("a quoted secret", () => {
  test.each(["joepw%1x", "a%2Fb-secret", "%1%2%1"])("%s is in no part of the reason", async (secret) => {
    const tree = mediaTree("1");
    const hook: Hook = (request) => {
      if (driveOf(request, "InsertMedia") === undefined) return undefined;
      const { Password } = Object(request.body);
      const text = `The value ${Password} for the property Password is wrong.`;
      return [400, refusal("Base.1.8.PropertyValueFormatError", text, Password, "Password")];
    };
    const credentials = { username: "joe", password: new Secret(secret) };

    const { said } = await run(tree, hook, (client) => client.insertMedia(IMAGE, signal, { credentials }));

    expect(said).toContain("The value [redacted] for the property Password is wrong.");
    expect(said).not.toMatch(/joepw|secret|%1/);
  });
});
