import { describe, expect, it } from "vitest";
import { SERVICE_ROOT } from "../../../../../shared/bmc/providers/redfish/resources/members.ts";
import { Secret } from "../../../../../shared/secret.ts";
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
const link = (path: string) => ({ "@odata.id": path });
const SERVICE = "/redfish/v1/AccountService";
const ACCOUNTS = `${SERVICE}/Accounts`;
const OWN = "admin";
const INTERNAL = refusal("Base.1.8.InternalError", "Failed.");

type Tree = ReturnType<typeof treeOf>;
type Lab = Awaited<ReturnType<typeof treeLab>>;

const account = (id: string, name: string) => ({
  ...link(`${ACCOUNTS}/${id}`),
  Id: id,
  UserName: name,
  RoleId: "Administrator",
  Enabled: true,
});
const NAMES = [OWN, "one", "two", "three"];
const PATHS = NAMES.map((_, index) => `${ACCOUNTS}/${index}`);
const withAccounts = (listed: object = collection(...PATHS)): Tree => ({
  ...treeOf({}),
  [SERVICE]: { Accounts: link(ACCOUNTS) },
  [ACCOUNTS]: { ...listed },
  ...Object.fromEntries(NAMES.map((name, index) => [`${ACCOUNTS}/${index}`, account(String(index), name)])),
});
const EXPANDS = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } };

const MORE = `${ACCOUNTS}/more`;
/** Lists of accounts that are not complete, and what is on a further page. */
const INCOMPLETE: [kind: string, list: object, page?: object][] = [
  ["no Members", { Name: "Accounts" }],
  ["nothing at all", {}],
  ["an error object", INTERNAL],
  ["fewer members than its count", { ...collection(...PATHS.slice(0, 2)), "Members@odata.count": 4 }],
  ["no members and a count", { Members: [], "Members@odata.count": 4 }],
  ["a member without a link", { Members: [link(PATHS[0] ?? ""), { Name: "User Account" }] }],
  ["a page that is missing", { Members: [link(PATHS[0] ?? "")], "Members@odata.nextLink": MORE }],
  ["a page without Members", { Members: [link(PATHS[0] ?? "")], "Members@odata.nextLink": MORE }, {}],
  [
    "pages that follow each other",
    { Members: [link(PATHS[0] ?? "")], "Members@odata.nextLink": MORE },
    { Members: [], "Members@odata.nextLink": ACCOUNTS },
  ],
  [
    "pages that overlap",
    { Members: PATHS.slice(0, 2).map(link), "Members@odata.nextLink": MORE, "Members@odata.count": 4 },
    { Members: PATHS.slice(1, 3).map(link) },
  ],
  ["no account of the connection itself", collection(...PATHS.slice(1, 3))],
];

describe("from a list of accounts with", () => {
  it.each<[kind: string, list: object, page?: object]>(INCOMPLETE)(
    "%s, no account is said to be absent, and none is created",
    async (_, list, page) => {
      const tree = { ...withAccounts(list), ...(page && { [MORE]: { ...page } }) };
      await using lab = await treeLab(tree);
      const incomplete = { class: "verify", message: expect.stringMatching(/the list is incomplete/) };

      await expect(lab.client.deleteUser("ghost", signal)).rejects.toMatchObject(incomplete);
      const ghost = { name: "ghost", password: new Secret("correct-horse-9"), role: "operator" } as const;
      await expect(lab.client.putUser(ghost, signal)).rejects.toMatchObject(incomplete);
      expect(lab.writes()).toEqual([]);
    },
  );

  it("all members, an account is absent", async () => {
    await using lab = await treeLab(withAccounts());

    expect(await lab.client.deleteUser("ghost", signal)).toMatchObject({ changed: false });
  });

  it("a directory behind it, the connection's own account need not be listed", async () => {
    const tree = {
      ...withAccounts(collection(...PATHS.slice(1))),
      [SERVICE]: { LDAP: { ServiceEnabled: true } },
    };
    await using lab = await treeLab(tree);

    expect(await lab.client.deleteUser("ghost", signal)).toMatchObject({ changed: false });
  });

  it("its end missing after a deletion, the account is not said to be deleted", async () => {
    const tree = withAccounts();
    await using lab = await treeLab(tree, ({ method }) => {
      if (method !== "DELETE") return undefined;
      tree[ACCOUNTS] = {};
      return [204];
    });

    await expect(lab.client.deleteUser("two", signal)).rejects.toMatchObject({ class: "verify" });
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("RW114: $expand", () => {
  const bodies = NAMES.map((name, index) => account(String(index), name));
  it.each<[string, object]>([
    ["leaves out the names", { Members: bodies.map(({ UserName: _, ...rest }) => rest) }],
    ["leaves out members", { Members: bodies.slice(0, 2) }],
    ["leaves out all Members", {}],
    ["sends pages that end early", { Members: bodies.slice(0, 2), "Members@odata.nextLink": MORE }],
  ])("that %s is made up for", async (_, expanded) => {
    let requests = 0;
    const tree = { ...withAccounts(), [SERVICE_ROOT.slice(0, -1)]: EXPANDS };
    // The second request for the collection is the one with `$expand`.
    await using lab = await treeLab(tree, ({ path }) =>
      path === ACCOUNTS && ++requests === 2 ? [200, expanded] : undefined,
    );

    const users = await lab.client.listUsers(signal);

    expect(users.map(({ name }) => name)).toEqual(NAMES);
  });
});

it("RW113: Members that are null are an empty list, without Members@odata.count as well", async () => {
  const processors = `${SYSTEM}/Processors`;
  await using lab = await treeLab({
    ...treeOf({ Processors: link(processors) }),
    [processors]: { Members: null },
  });

  expect((await lab.client.getHardware(signal)).unread).toBeUndefined();
});

describe("nothing is said to be empty by a list without Members:", () => {
  const STORAGE = `${SYSTEM}/Storage`;
  const LOGS = `${SYSTEM}/LogServices`;
  const MEDIA = `${SYSTEM}/VirtualMedia`;
  const UPDATE = "/redfish/v1/UpdateService";
  const cases: readonly [what: string, tree: Tree, read: (client: Lab["client"]) => Promise<unknown>][] = [
    [
      "the firmware inventory",
      {
        ...treeOf({}),
        [UPDATE]: { FirmwareInventory: link(`${UPDATE}/FirmwareInventory`) },
        [`${UPDATE}/FirmwareInventory`]: {},
      },
      (client) => client.listFirmware(signal),
    ],
    [
      "the event log",
      {
        ...treeOf({ LogServices: link(LOGS) }),
        [LOGS]: collection(`${LOGS}/SEL`),
        [`${LOGS}/SEL`]: { Id: "SEL", Entries: link(`${LOGS}/SEL/Entries`) },
        [`${LOGS}/SEL/Entries`]: {},
      },
      (client) => client.listSel(signal),
    ],
    [
      "virtual media",
      { ...treeOf({ VirtualMedia: link(MEDIA) }), [MEDIA]: {} },
      (client) => client.ejectMedia(signal),
    ],
    [
      "storage",
      { ...treeOf({ Storage: link(STORAGE) }), [STORAGE]: {} },
      (client) => client.clearRaid({ volumes: ["os"] }, { changeMs: 60_000, verifyMs: 60_000 }, signal),
    ],
    [
      "volumes",
      {
        ...treeOf({ Storage: link(STORAGE) }),
        [STORAGE]: collection(`${STORAGE}/a`),
        [`${STORAGE}/a`]: { Id: "a", Drives: [], Volumes: link(`${STORAGE}/a/Volumes`) },
        [`${STORAGE}/a/Volumes`]: {},
      },
      (client) => client.clearRaid({ volumes: ["os"] }, { changeMs: 60_000, verifyMs: 60_000 }, signal),
    ],
    ["systems", { ...treeOf({}), "/redfish/v1/Systems": {} }, (client) => client.getPower(signal)],
  ];

  it.each(cases)("%s", async (_, tree, read) => {
    await using lab = await treeLab(tree);

    await expect(read(lab.client)).rejects.toMatchObject({
      class: "verify",
      message: expect.stringMatching(/the list is incomplete: .*no Members/),
    });
    expect(lab.writes()).toEqual([]);
  });
});

describe("RW084: a reading that is answered", () => {
  const once = (path: string, ...answer: TreeAnswer) => {
    let times = 0;
    return (request: TreeRequest) =>
      request.method === "GET" && request.path === path && times++ === 0 ? answer : undefined;
  };

  it.each([500, 502, 504])("%i once is asked again, a member of a list as well", async (status) => {
    await using lab = await treeLab(withAccounts(), once(PATHS[2] ?? "", status, INTERNAL));
    await using first = await treeLab(treeOf({}), once("/redfish/v1/Systems", status, INTERNAL));

    expect((await lab.client.listUsers(signal)).map(({ name }) => name)).toEqual(NAMES);
    expect(await first.client.getPower(signal)).toBe("on");
  });

  it("500 for some seconds is asked until it is another, in bounded time", async () => {
    let times = 0;
    const fails = (most: number) => (request: TreeRequest) =>
      request.path === SYSTEM && times++ < most ? ([500, INTERNAL] as const) : undefined;
    await using lab = await treeLab(treeOf({}), fails(5));
    expect(await lab.client.getPower(signal)).toBe("on");

    times = 0;
    await using broken = await treeLab(treeOf({}), fails(99));
    await expect(broken.client.getPower(signal)).rejects.toMatchObject({ class: "bmc" });
    expect(broken.requests.length).toBeLessThan(20);
  });
});

describe("a 403", () => {
  it.each([
    ["PropertyNotWritable", "unsupported"],
    ["ResourceCannotBeDeleted", "unsupported"],
    ["PropertyUnknown", "unsupported"],
    ["OperationNotAllowed", "unsupported"],
    ["InsufficientPrivilege", "auth"],
    ["AccessDenied", "auth"],
  ])("with %s is class %s", async (id, errorClass) => {
    await using lab = await treeLab(withAccounts(), ({ method }) =>
      method === "GET" ? undefined : [403, refusal(`Base.1.8.${id}`, "No.")],
    );

    await expect(lab.client.deleteUser("two", signal)).rejects.toMatchObject({ class: errorClass });
  });
});

it("a volume is created and found again by DisplayName where the BMC takes no Name", async () => {
  const STORAGE = `${SYSTEM}/Storage`;
  const VOLUMES = `${STORAGE}/a/Volumes`;
  const drives = [0, 1].map((id) => `${STORAGE}/a/Drives/${id}`);
  const unused = drives.map((_, id) => `${VOLUMES}/${id}`);
  const drive = (id: number, volume: string | undefined) => ({
    Id: String(id),
    CapacityBytes: 1e12,
    Status: { State: "Enabled" },
    Links: { Volumes: volume === undefined ? [] : [link(volume)] },
  });
  const tree: Tree = {
    ...treeOf({ Storage: link(STORAGE) }),
    [STORAGE]: collection(`${STORAGE}/a`),
    [`${STORAGE}/a`]: { Id: "a", Drives: drives.map(link), Volumes: link(VOLUMES) },
    [VOLUMES]: collection(...unused),
    ...Object.fromEntries(drives.map((path, id) => [path, drive(id, unused[id])])),
    ...Object.fromEntries(
      unused.map((path, id) => [
        path,
        {
          Id: String(id),
          Name: `Drive ${id}`,
          RAIDType: "None",
          Links: { Drives: [link(drives[id] ?? "")] },
        },
      ]),
    ),
  };
  await using lab = await treeLab(tree, ({ method, path, body }) => {
    if (method !== "POST" || path !== VOLUMES) return undefined;
    const { Name: name, ...given } = Object(body);
    if (name !== undefined) return [400, refusal("Base.1.4.PropertyUnknown", "No.", "Name")];
    tree[`${VOLUMES}/9`] = { Id: "9", Name: "MR Volume", ...given };
    tree[VOLUMES] = collection(`${VOLUMES}/9`);
    return [201, tree[`${VOLUMES}/9`]];
  });
  const request = { volumes: [{ name: "os", level: "RAID1", drives: 2 }] } as const;
  const limits = { changeMs: 60_000, verifyMs: 60_000 };

  expect(await lab.client.setRaid(request, limits, signal)).toMatchObject({ changed: true });
  expect(await lab.client.setRaid(request, limits, signal)).toMatchObject({ changed: false });
});
