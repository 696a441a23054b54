import { describe, expect, it } from "vitest";
import {
  collection,
  refusal,
  SYSTEM,
  type TreeRequest,
  treeLab,
  treeOf,
} from "../../../../support/redfish-tree.ts";

const signal = new AbortController().signal;
const SEL = `${SYSTEM}/LogServices/SEL`;
const BIOS = `${SYSTEM}/Bios`;
const INFO = `${SYSTEM}/ActionInfo`;
const UPDATES = "/redfish/v1/UpdateService";
const INVENTORY = `${UPDATES}/FirmwareInventory`;

type Tree = ReturnType<typeof treeOf>;

/** A machine whose event log and BIOS list their actions like this. */
function treeWith(clearing: object, resetting: object, parameters: readonly object[] = []): Tree {
  const tree = treeOf({ LogServices: { "@odata.id": `${SYSTEM}/LogServices` }, Bios: { "@odata.id": BIOS } });
  return {
    ...tree,
    [`${SYSTEM}/LogServices`]: collection(SEL),
    [SEL]: { "@odata.id": SEL, Actions: { "#LogService.ClearLog": clearing } },
    [`${SEL}/Entries`]: collection(`${SEL}/Entries/1`),
    [`${SEL}/Entries/1`]: { "@odata.id": `${SEL}/Entries/1`, Id: "1", Message: "Fan 1 has stopped." },
    [BIOS]: { "@odata.id": BIOS, Attributes: { a: 1 }, Actions: { "#Bios.ResetBios": resetting } },
    [INFO]: { "@odata.id": INFO, Parameters: parameters },
  };
}

const byInfo = { "@Redfish.ActionInfo": INFO };
const parameter = (Name: string, Required: boolean, ...AllowableValues: readonly string[]) => ({
  Name,
  Required,
  AllowableValues,
});

describe("parameters of makers", () => {
  it.each([
    ["the action lists", { "ClearType@Redfish.AllowableValues": ["ClearAll"] }, []],
    ["its ActionInfo requires", byInfo, [parameter("ClearType", true, "ClearAll")]],
    ["the BMC lists among others", { "ClearType@Redfish.AllowableValues": ["ClearOld", "ClearAll"] }, []],
  ])("are part of ClearLog where %s them", async (_, clearing, info) => {
    const tree = treeWith(clearing, {}, info);
    await using lab = await treeLab(tree, ({ method }) => {
      if (method !== "POST") return undefined;
      tree[`${SEL}/Entries`] = collection();
      return [204];
    });

    expect(await lab.client.clearSel(signal)).toMatchObject({ changed: true });

    expect(lab.bodies()).toEqual([{ ClearType: "ClearAll" }]);
  });

  it("are added once a refusal names them, and nothing else is", async () => {
    const tree = treeWith({}, {});
    await using lab = await treeLab(tree, ({ method, body }) => {
      if (method !== "POST") return undefined;
      if (!Object(body).ClearType)
        return [400, refusal("Base.1.8.ActionParameterMissing", "It is missing.", "ClearLog", "ClearType")];
      tree[`${SEL}/Entries`] = collection();
      return [204];
    });

    await lab.client.clearSel(signal);

    expect(lab.bodies()).toEqual([{}, { ClearType: "ClearAll" }]);
  });

  it("are not made up: another refusal is told as it is", async () => {
    await using lab = await treeLab(treeWith(byInfo, {}, [parameter("Note", false, "a")]), ({ method }) =>
      method === "POST" ? [400, refusal("Base.1.8.ActionParameterMissing", "Say more.", "Token")] : undefined,
    );

    await expect(lab.client.clearSel(signal)).rejects.toMatchObject({
      message: expect.stringContaining("Say more."),
    });
    expect(lab.bodies()).toEqual([{}]);
  });

  it.each(["ResetType", "ResetBiosType"])(
    "are part of ResetBios where its ActionInfo requires %s",
    async (name) => {
      await using lab = await treeLab(treeWith({}, byInfo, [parameter(name, true, "Reset")]), ({ method }) =>
        method === "POST" ? [204] : undefined,
      );

      await lab.client.resetBios(signal);

      expect(lab.bodies()).toEqual([{ [name]: "Reset" }]);
    },
  );
});

describe("a multipart push that is refused without OemParameters", () => {
  const limits = { updateMs: 60_000, verifyMs: 5_000 };
  const image = { name: "image.bin", content: new Blob(["the image"]) };
  const request = (targets: readonly string[]) => ({ image, targets, allowDowngrade: false });
  const missing: readonly (readonly [string, unknown])[] = [
    [
      "in words",
      refusal("Ami.1.0.MissingOemParameters", "The request does not have OemParameters with ImageType."),
    ],
    ["by its ID", refusal("Ami.1.0.MissingOemParameters", "Bad request.")],
    ["by the parameter", refusal("Base.1.8.PropertyMissing", "It is missing.", "ImageType")],
  ];

  /** Read by a parser that is not ours. */
  const partsOf = ({ body, headers }: TreeRequest) =>
    new Response(String(body), { headers: { "content-type": String(headers["content-type"]) } }).formData();

  async function megarac(answer: unknown) {
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1": {},
      [UPDATES]: { MultipartHttpPushUri: `${UPDATES}/upload`, FirmwareInventory: { "@odata.id": INVENTORY } },
      [INVENTORY]: collection(`${INVENTORY}/BMCImage1`, `${INVENTORY}/2`, `${INVENTORY}/PSU1`),
      [`${INVENTORY}/BMCImage1`]: { Id: "BMCImage1", Version: "1" },
      [`${INVENTORY}/2`]: { Id: "2", Name: "System BIOS", Version: "1" },
      [`${INVENTORY}/PSU1`]: { Id: "PSU1", Version: "1" },
    };
    return treeLab(tree, ({ method, body }) => {
      if (method !== "POST") return undefined;
      if (!String(body).includes("OemParameters")) return [400, answer];
      for (const path of [`${INVENTORY}/BMCImage1`, `${INVENTORY}/2`])
        tree[path] = { ...tree[path], Version: "2" };
      return [202, {}];
    });
  }

  it.each(missing)("%s is sent with the type of its targets, from then on at once", async (_, answer) => {
    await using lab = await megarac(answer);

    await lab.client.updateFirmware(request(["BMCImage1"]), limits, signal);
    const again = lab.client.updateFirmware(request(["2"]), { ...limits, verifyMs: 1 }, signal);
    await expect(again).rejects.toMatchObject({ class: "verify" });

    const sent = lab.requests.filter(({ method }) => method === "POST");
    const forms = await Promise.all(sent.map(partsOf));
    expect(forms.map((form) => form.get("OemParameters"))).toEqual([
      null,
      '{"ImageType":"BMC"}',
      '{"ImageType":"BIOS"}',
    ]);
    expect(forms.map((form) => [...form.keys()].at(-1))).toEqual(forms.map(() => "UpdateFile"));
  });

  it.each([[[]], [["PSU1"]], [["BMCImage1", "2"]]])(
    "is not repeated if the targets %j show no type",
    async (targets) => {
      await using lab = await megarac(missing[0]?.[1]);

      await expect(lab.client.updateFirmware(request(targets), limits, signal)).rejects.toMatchObject({
        message: expect.stringMatching(/OemParameters.*name targets that are all the BMC or all the BIOS/),
      });
      expect(lab.writes()).toHaveLength(1);
    },
  );
});

describe("a push of a file alone", () => {
  const IMAGE = `${INVENTORY}/BMC`;
  const limits = { updateMs: 60_000, verifyMs: 5_000 };
  const request = {
    image: { name: "image.bin", content: new Blob(["the image"]) },
    targets: ["BMC"],
    version: "2",
    allowDowngrade: false,
  };

  async function pushing(service: object, keeps: (body: unknown) => object = Object) {
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1": {},
      [UPDATES]: {
        HttpPushUri: `${UPDATES}/push`,
        FirmwareInventory: { "@odata.id": INVENTORY },
        ...service,
      },
      [INVENTORY]: collection(IMAGE),
      [IMAGE]: { Id: "BMC", Version: "1" },
    };
    return treeLab(tree, ({ method, body }) => {
      if (method === "PATCH") tree[UPDATES] = { ...tree[UPDATES], ...keeps(body) };
      if (method === "POST") tree[IMAGE] = { Id: "BMC", Version: "2" };
      return method === "GET" ? undefined : [204];
    });
  }

  it.each([
    ["", {}, {}, {}],
    [
      ", which is marked as in use",
      { HttpPushUriTargetsBusy: false },
      { HttpPushUriTargetsBusy: true },
      { HttpPushUriTargetsBusy: false },
    ],
  ])("has its targets in the service%s, and takes them back", async (_, service, taken, released) => {
    await using lab = await pushing({ HttpPushUriTargets: [], ...service });

    await lab.client.updateFirmware(request, limits, signal);

    expect(lab.bodies()).toEqual([
      { HttpPushUriTargets: [IMAGE], ...taken },
      "the image",
      { HttpPushUriTargets: [], ...released },
    ]);
  });

  it("is not sent if the service drops the targets", async () => {
    await using lab = await pushing({ HttpPushUriTargets: [] }, () => ({}));

    await expect(lab.client.updateFirmware(request, limits, signal)).rejects.toMatchObject({
      class: "verify",
    });
    expect(lab.bodies()).not.toContain("the image");
  });

  it.each([
    ["has no such targets", {}, "unsupported"],
    ["is in use by another client", { HttpPushUriTargets: [], HttpPushUriTargetsBusy: true }, "busy"],
  ])("is not sent if the service %s", async (_, service, errorClass) => {
    await using lab = await pushing(service);

    await expect(lab.client.updateFirmware(request, limits, signal)).rejects.toMatchObject({
      class: errorClass,
    });
    expect(lab.writes()).toEqual([]);
  });
});
