import { afterEach, describe, expect, test } from "vitest";
import type { MediaDrive, MediaOptions } from "../../../../../shared/bmc/operations/media.ts";
import { Secret } from "../../../../../shared/secret.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { redfishConnection } from "../../../../support/bmc-lab.ts";
import { collection, SYSTEM, treeLab, treeOf } from "../../../../support/redfish-tree.ts";
import { clientOf, errorOf } from "../../service-lab.ts";

const signal = new AbortController().signal;
const ISO = "http://192.0.2.9/x.iso";
const IMG = "http://192.0.2.9/x.img";
const credentials = { username: "LAB\\images", password: new Secret("canary-share") };
let bmc: RedfishBmc;
afterEach(() => bmc?.close());

async function start(profile: string, media: Partial<RedfishProfile["media"]> = {}) {
  const base = redfishProfile(profile);
  bmc = await startRedfishBmc({ tls: "http", profile: { ...base, media: { ...base.media, ...media } } });
  return clientOf(redfishConnection(bmc.port));
}

const bodies = () => bmc.requests.filter(({ method }) => method !== "GET").map(({ body }) => Object(body));
const slot = (id: string) => {
  const found = bmc.media.slots.find((one) => one.id === id);
  if (!found) throw new Error(`no drive ${id}`);
  return found;
};
const hold = (id: string, image: string) => Object.assign(slot(id), { inserted: true, image });

describe("an image on a share", () => {
  const NFS = "nfs://192.0.2.9/export/x.iso";
  const CIFS = "smb://192.0.2.9/share/x.iso";
  test.each([
    ["generic", NFS, "nfs://192.0.2.9/export/x.iso", "NFS"],
    ["generic", "192.0.2.9:/export/x.iso", "nfs://192.0.2.9/export/x.iso", "NFS"],
    ["generic", CIFS, "cifs://192.0.2.9/share/x.iso", "CIFS"],
    ["dell-idrac9", NFS, "192.0.2.9:/export/x.iso", "NFS"],
    ["dell-idrac9", CIFS, "//192.0.2.9/share/x.iso", "CIFS"],
    ["lenovo-xcc", NFS, "192.0.2.9:/export/x.iso", "NFS"],
    ["lenovo-xcc", "\\\\192.0.2.9\\share\\x.iso", "//192.0.2.9/share/x.iso", "CIFS"],
  ])("on %s, %s is sent once, as %s with its protocol", async (profile, url, image, protocol) => {
    await using client = await start(profile);

    const report = await client.insertMedia(url, signal, { credentials });

    expect(report).toMatchObject({ changed: true, after: { inserted: true, image } });
    expect(bodies()).toEqual([
      expect.objectContaining({
        Image: image,
        TransferProtocolType: protocol,
        UserName: credentials.username,
        Password: "canary-share",
      }),
    ]);
    expect(JSON.stringify(report)).not.toContain("canary");
  });

  test("is written another way after the first is refused, and never with fewer credentials", async () => {
    await using client = await start("generic", { imageShares: "share" });

    await client.insertMedia(CIFS, signal, { credentials });

    expect(bodies().map(({ Image }) => Image)).toEqual([
      "cifs://192.0.2.9/share/x.iso",
      "smb://192.0.2.9/share/x.iso",
      "//192.0.2.9/share/x.iso",
    ]);
    expect(bodies().every(({ Password }) => Password === "canary-share")).toBe(true);
  });

  test("that the BMC does not fetch is refused before anything is ejected, with what it does fetch", async () => {
    await using client = await start("generic", { protocols: ["HTTP", "HTTPS"] });
    hold("CD1", ISO);

    const errors = [
      await errorOf(client.insertMedia(NFS, signal)),
      await errorOf(client.planMedia(NFS, signal)),
    ];

    const message = "redfish: drive CD1 takes images by HTTP, HTTPS, not by NFS";
    expect(errors).toEqual(Array(2).fill(expect.objectContaining({ class: "unsupported", message })));
    expect(bodies()).toEqual([]);
    expect(await client.check("media", signal)).toMatchObject({
      state: "ok",
      detail: "a drive with an image in it; takes images by HTTP, HTTPS",
    });
  });

  test.each([
    ["AccessDenied", "The share's server denied it."],
    ["ActionParameterUnknown", "The parameter Password is not known."],
    ["PropertyValueFormatError", "The value of UserName is wrong."],
  ])(
    "whose credentials are refused with %s is sent once, and its password is not shown",
    async (id, text) => {
      await using client = await start("generic");
      const message = `${text} (canary-share)`;
      bmc.fail({
        kind: "refuse",
        method: "POST",
        status: 400,
        messageId: `Base.1.8.${id}`,
        message,
        times: 99,
      });

      const error = await errorOf(client.insertMedia(CIFS, signal, { credentials }));

      expect(bodies()).toHaveLength(1);
      expect(error.message).toContain(id);
      expect(error.message).not.toContain("canary");
    },
  );
});

test("a plan shows the login name and not the password", async () => {
  await using client = await start("generic");

  const { steps } = await client.planMedia(ISO, signal, undefined, { credentials });

  expect(steps).toEqual([
    expect.stringContaining(`{"Image":"${ISO}","UserName":"LAB\\\\images","Password":"[redacted]"}`),
  ]);
});

describe("a USB stick", () => {
  test("goes into a drive for it, write-protected, and out of it alone", async () => {
    await using client = await start("generic");
    hold("CD1", ISO);

    const { after, summary } = await client.insertMedia(IMG, signal);
    const discs = await client.ejectMedia(signal);
    const sticks = await client.ejectMedia(signal, { type: "usb" });

    expect(after).toEqual({ inserted: true, image: IMG, drive: "Floppy1", writeProtected: true });
    expect(summary).toBe(`media ${IMG} inserted into drive Floppy1`);
    expect(bodies()[0]).toEqual({ Image: IMG, WriteProtected: true });
    expect(discs.after).toEqual({ inserted: false });
    expect(sticks.after).toEqual({ inserted: false, drive: "Floppy1" });
  });

  test("leaves a CD in where a drive takes both, and the next takes its place", async () => {
    await using client = await start("dell-idrac9", { staleInserts: 0 });
    hold("1", ISO);

    const first = await client.insertMedia(IMG, signal);
    await using again = clientOf(redfishConnection(bmc.port));
    const second = await again.insertMedia("http://192.0.2.9/other.img", signal);

    expect([first, second].map(({ after }) => after?.drive)).toEqual(["2", "2"]);
    expect(slot("1")).toMatchObject({ inserted: true, image: ISO });
  });

  test("may be writable, in every form that is tried", async () => {
    await using client = await start("generic", { requires: ["Inserted"] });

    const { after } = await client.insertMedia(IMG, signal, { writable: true });

    expect(after?.writeProtected).toBe(false);
    expect(bodies().map(({ WriteProtected }) => WriteProtected)).toEqual([false, false]);
  });

  test("is unsupported where no drive takes it, and a CD by its type is not", async () => {
    await using client = await start("generic", { slots: [{ id: "CD1", types: ["CD"] }] });

    const error = await errorOf(client.insertMedia(IMG, signal));
    const { after } = await client.insertMedia(IMG, signal, { drive: { type: "cd" } });

    expect(error).toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC offers no virtual drive that takes a USB stick",
    });
    expect(after).toEqual({ inserted: true, image: IMG });
  });
});

describe("a drive by its name", () => {
  test("is filled and emptied alone, and is not the one of the next action without a name", async () => {
    await using client = await start("dell-idrac9", { staleInserts: 0 });
    const second: MediaOptions = { drive: { name: "2" } };

    const inserted = await client.insertMedia(ISO, signal, second);
    await client.insertMedia("http://192.0.2.9/other.iso", signal, { drive: { name: "1" } });
    const ejected = await client.ejectMedia(signal, { name: "2" });

    expect(inserted.after).toMatchObject({ inserted: true, drive: "2" });
    expect(ejected).toMatchObject({ after: { inserted: false, drive: "2" }, summary: "media ejected" });
    expect(slot("1")).toMatchObject({ inserted: true, image: "http://192.0.2.9/other.iso" });
    expect(Object(client.hint).media).toBeUndefined();
  });

  test.each<[MediaDrive, string, string]>([
    [
      { name: "CD9" },
      "usage",
      "redfish: the BMC has no virtual drive CD9; it has Floppy1 (Floppy, USBStick), CD1 (CD, DVD)",
    ],
    [{ name: "cd1", type: "usb" }, "unsupported", "redfish: drive CD1 (CD, DVD) takes no USB stick"],
    [{ name: "Floppy1", type: "cd" }, "unsupported", "redfish: drive Floppy1 (Floppy, USBStick) takes no CD"],
  ])("%j is refused with the reason before anything is sent", async (drive, errorClass, message) => {
    await using client = await start("generic");

    const errors = [
      await errorOf(client.insertMedia(ISO, signal, { drive })),
      await errorOf(client.ejectMedia(signal, drive)),
    ];

    expect(errors.map((error) => [error.class, error.message])).toEqual(Array(2).fill([errorClass, message]));
    expect(bodies()).toEqual([]);
  });

  test("that refuses is not replaced by another", async () => {
    await using client = await start("dell-idrac9", { refusesSlots: ["1"] });

    const error = await errorOf(client.insertMedia(ISO, signal, { drive: { name: "1" } }));

    expect(error.message).toContain("405");
    expect(bmc.media.slots.some(({ inserted }) => inserted)).toBe(false);
  });
});

describe("of drives as other services have them", () => {
  const DRIVES = `${SYSTEM}/VirtualMedia`;
  const MANAGER = "/redfish/v1/Managers/1";
  const drive = (path: string, more: Readonly<Record<string, unknown>> = {}) => ({
    "@odata.id": path,
    Id: path.split("/").pop(),
    MediaTypes: ["CD", "USBStick"],
    Inserted: false,
    ...more,
  });
  const tree = (more: Readonly<Record<string, unknown>> = {}) => ({
    ...treeOf({
      VirtualMedia: { "@odata.id": DRIVES },
      Links: { ManagedBy: [{ "@odata.id": MANAGER }] },
    }),
    "/redfish/v1/Managers": collection(MANAGER),
    [MANAGER]: { "@odata.id": MANAGER, Id: "1", VirtualMedia: { "@odata.id": `${MANAGER}/VirtualMedia` } },
    [`${MANAGER}/VirtualMedia`]: collection(`${MANAGER}/VirtualMedia/EXT1`, `${MANAGER}/VirtualMedia/CD`),
    [`${MANAGER}/VirtualMedia/EXT1`]: drive(`${MANAGER}/VirtualMedia/EXT1`),
    [`${MANAGER}/VirtualMedia/CD`]: drive(`${MANAGER}/VirtualMedia/CD`, { MediaTypes: ["CD"] }),
    [DRIVES]: collection(`${DRIVES}/EXT1`),
    [`${DRIVES}/EXT1`]: drive(`${DRIVES}/EXT1`, more),
  });

  test("the list names each once, with what is in it and without another client's credentials", async () => {
    const held = { Inserted: true, Image: `http://eve:canary@192.0.2.9/x.iso`, ConnectedVia: "URI" };
    await using lab = await treeLab(tree({ ...held, WriteProtected: true }));

    expect(await lab.client.listMedia(signal)).toEqual({
      drives: [
        {
          name: "EXT1",
          types: ["CD", "USBStick"],
          inserted: true,
          image: ISO,
          connectedVia: "URI",
          writeProtected: true,
        },
        { name: "CD", types: ["CD"], inserted: false },
      ],
    });
  });

  test("the ActionInfo says what protocols and parameters there are", async () => {
    const info = `${DRIVES}/EXT1/InsertMediaActionInfo`;
    const target = `${DRIVES}/EXT1/Actions/VirtualMedia.InsertMedia`;
    const Actions = { "#VirtualMedia.InsertMedia": { target, "@Redfish.ActionInfo": info } };
    await using lab = await treeLab({
      ...tree({ Actions }),
      [info]: {
        Parameters: [
          { Name: "Image", Required: true },
          { Name: "TransferProtocolType", AllowableValues: ["NFS", "HTTP"] },
        ],
      },
    });

    const byCifs = await errorOf(lab.client.insertMedia("//h/s/x.iso", signal));
    const withLogin = await errorOf(lab.client.insertMedia("nas:/e/x.iso", signal, { credentials }));

    expect([byCifs, withLogin].map(({ message }) => message)).toEqual([
      "redfish: drive EXT1 takes images by NFS, HTTP, not by CIFS",
      "redfish: drive EXT1 takes no credentials for the image server",
    ]);
    expect(lab.writes()).toEqual([]);
    expect((await lab.client.check("media", signal)).detail).toBe(
      "an empty drive; takes images by NFS, HTTP",
    );
  });

  test.each([
    ["connected by nothing", { ConnectedVia: "NotConnected" }, {}, `${IMG} (not connected)`],
    ["write-protected all the same", { WriteProtected: true }, { writable: true }, `${IMG}, write-protected`],
  ])("an image that is %s is a verify error", async (_, shown, options, has) => {
    const path = `${DRIVES}/EXT1`;
    const served = tree();
    await using lab = await treeLab(served, ({ method, body }) => {
      if (method === "GET") return undefined;
      const { Image } = Object(body);
      Object.assign(served[path] ?? {}, { Image, Inserted: Image !== null, ConnectedVia: "URI", ...shown });
      return [204];
    });

    const error = await errorOf(lab.client.insertMedia(IMG, signal, options));

    expect(error).toMatchObject({
      class: "verify",
      message: `redfish: asked for media ${IMG}, the BMC has ${has}`,
    });
  });
});
