import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
const image = { url: "http://192.0.2.9/boot.iso" };
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic"): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", profile });
}

function withMedia(name: string, changes: Partial<RedfishProfile["media"]>): RedfishProfile {
  const base = redfishProfile(name);
  return { ...base, media: { ...base.media, ...changes } };
}

function mediaOf({ media }: Session) {
  if (!media) throw new Error("no media driver");
  return media;
}

const use = <T>(run: (media: ReturnType<typeof mediaOf>) => Promise<T>, hint?: unknown) =>
  withSession(bmc, { hint }, (session) => run(mediaOf(session)));
const writes = () => bmc.requests.filter(({ method }) => method !== "GET");
const inserted = () => bmc.media.slots.filter((slot) => slot.inserted).map(({ id }) => id);

describe("inserting", () => {
  test.each(["generic", "dell-idrac9", "dell-13g", "hpe-ilo5", "supermicro", "ami", "lenovo-xcc", "openbmc"])(
    "on %s puts the image into the first drive for discs, and it is read back",
    async (profile) => {
      await start(profile);

      const [before, after] = await use(async (media) => {
        const empty = await media.read(signal);
        await media.insert(image, signal);
        return [empty, await media.read(signal)];
      });

      expect(before).toEqual({ inserted: false });
      expect(after).toEqual({ inserted: true, image: image.url });
      expect(inserted()).toHaveLength(1);
    },
  );

  test("adds a parameter after each 400, in order, and starts with what was taken the next time", async () => {
    await start("ami-future-state");

    const hint = await withSession(bmc, {}, async (session) => {
      await mediaOf(session).insert(image, signal);
      return session.hint();
    });
    const first = writes().map(({ body }) => Object.keys(Object(body)).at(-1));
    bmc.media.slots.forEach((slot) => {
      slot.inserted = false;
    });
    bmc.forget();
    await use((media) => media.insert(image, signal), hint);

    expect(first).toEqual(["Image", "Inserted", "WriteProtected", "TransferProtocolType", "TransferMethod"]);
    expect(writes()).toHaveLength(1);
    expect(writes()[0]?.body).toEqual({
      Image: image.url,
      Inserted: true,
      WriteProtected: true,
      TransferProtocolType: "HTTP",
      TransferMethod: "Stream",
    });
  });

  describe("a refusal decides what is sent next", () => {
    const forms = () =>
      writes().map(
        ({ path, body }) => `${/(\w+)\/Actions/.exec(path)?.[1]} ${Object.keys(Object(body)).join(" ")}`,
      );
    const refuse = (fault: { status?: number; messageId: string; message?: string; times?: number }) =>
      bmc.fail({ kind: "refuse", method: "POST", status: 400, message: "No.", ...fault });
    const IMAGE = "CD1 Image";
    const INSERTED = "CD1 Image Inserted";
    const PROTECTED = "CD1 Image Inserted WriteProtected";
    const PROTOCOL = "CD1 Image Inserted WriteProtected TransferProtocolType";
    const METHOD = "CD1 Image Inserted WriteProtected TransferProtocolType TransferMethod";

    test.each([
      ["ActionParameterMissing", "No.", [IMAGE, INSERTED]],
      [
        "ActionParameterMissing",
        "The action requires the parameter TransferProtocolType.",
        [IMAGE, PROTOCOL],
      ],
      ["PropertyMissing", "The property TransferMethod is required.", [IMAGE, METHOD]],
      ["GeneralError", "The TransferProtocolType is required.", [IMAGE, PROTOCOL]],
      ["ActionParameterUnknown", "No.", [IMAGE, INSERTED]],
      ["ActionParameterNotSupported", "No.", [IMAGE, INSERTED]],
      ["PropertyUnknown", "No.", [IMAGE, INSERTED]],
      ["UnrecognizedRequestBody", "No.", [IMAGE, INSERTED]],
      ["MalformedJSON", "No.", [IMAGE, INSERTED]],
      ["ActionParameterUnknown", "The parameter Image is not known.", [IMAGE]],
      ["ActionParameterValueFormatError", "The value of the parameter Image is no URI.", [IMAGE]],
      ["ActionParameterValueNotInList", "The value of Image is not in the list.", [IMAGE]],
      ["PropertyValueError", "The value of Image is wrong.", [IMAGE]],
      ["GeneralError", "The image cannot be mounted.", [IMAGE]],
      ["GeneralError", "", [IMAGE]],
    ])("%s, %j", async (id, message, sent) => {
      await start();
      refuse({ messageId: `Base.1.8.${id}`, message });

      await use((media) => media.insert(image, signal).catch(() => undefined));

      expect(forms()).toEqual(sent);
    });

    test("a form that is wrong in every way is sent in each form once", async () => {
      await start();
      refuse({ messageId: "Base.1.8.ActionParameterUnknown", times: 99 });

      const error = await use((media) => errorOf(media.insert(image, signal)));

      expect(error.message).toContain("ActionParameterUnknown");
      expect(forms()).toEqual([IMAGE, INSERTED, PROTECTED, PROTOCOL, METHOD]);
    });

    test("a parameter that was taken once and is unknown now is left out", async () => {
      await start();
      const hint = await withSession(bmc, {}, async (session) => {
        await mediaOf(session).read(signal);
        return session.hint();
      });
      refuse({ messageId: "Base.1.8.ActionParameterUnknown", message: "Unknown: Inserted, WriteProtected." });
      const media = { ...Object(hint).media, form: 2 };

      await use((opened) => opened.insert(image, signal), { ...Object(hint), media });

      expect(forms()).toEqual([PROTECTED, IMAGE]);
    });

    test.each([
      [404, "Base.1.8.ResourceMissingAtURI", "No.", 2],
      [405, "Base.1.8.OperationNotAllowed", "No.", 2],
      [501, "Base.1.8.GeneralError", "No.", 2],
      [400, "Base.1.8.ActionNotSupported", "No.", 2],
      [400, "Base.1.8.PropertyNotWritable", "The property Image is read-only.", 2],
      [400, "IDRAC.2.8.RAC0904", "The remote file location is not accessible.", 1],
      [400, "Base.1.8.AccessDenied", "Access to the remote server is denied.", 1],
      [500, "IDRAC.2.8.SYS446", "An internal error.", 1],
    ])("%i %s, %j: of two drives, %4$i is tried", async (status, messageId, message, drives) => {
      await start("dell-idrac9");
      refuse({ status, messageId, message, times: 99 });

      await use((media) => media.insert(image, signal).catch(() => undefined));

      expect(forms().slice(0, 2)).toEqual(["1 Image", "2 Image"].slice(0, drives));
    });
  });

  test("continues with the next drive when one refuses", async () => {
    await start(withMedia("dell-idrac9", { refusesSlots: ["1"] }));

    const state = await use(async (media) => {
      await media.insert(image, signal);
      return await media.read(signal);
    });

    expect(inserted()).toEqual(["2"]);
    expect(state?.inserted).toBe(true);
  });

  test("on Dell right after an ejection is busy, and taken after a while", async () => {
    await start("dell-idrac9");

    const errors = await use(async (media) => {
      await media.insert(image, signal);
      await media.eject(signal);
      const refusals = [
        await errorOf(media.insert(image, signal)),
        await errorOf(media.insert(image, signal)),
      ];
      await media.insert(image, signal);
      return refusals;
    });

    expect(errors.map((error) => error.class)).toEqual(["busy", "busy"]);
    expect(errors[0]?.message).toContain("VRM0021");
    expect(inserted()).toEqual(["1"]);
  });

  test("on Lenovo, whose drives have no actions, is a PATCH of the drive", async () => {
    await start("lenovo-xcc");

    await use((media) => media.insert(image, signal));

    expect(writes().map(({ method, path, body }) => [method, path, body])).toEqual([
      ["PATCH", "/redfish/v1/Systems/1/VirtualMedia/EXT1", { Image: image.url, Inserted: true }],
    ]);
  });

  test("where the drive needs If-Match goes with the tag it was read with", async () => {
    const lenovo = withMedia("lenovo-sr655", {});
    await start(lenovo);

    await use((media) => media.insert(image, signal));

    expect(writes()).toHaveLength(1);
    expect(inserted()).toEqual(["EXT1"]);
  });

  test("is unsupported before anything is sent where no drive takes a disc", async () => {
    await start("bare");

    const errors = await use(async (media) => [
      await errorOf(media.plan(image, signal)),
      await errorOf(media.insert(image, signal)),
    ]);

    expect(errors.map((error) => error.class)).toEqual(["unsupported", "unsupported"]);
    expect(writes()).toEqual([]);
  });

  test("whose answer is lost is uncertain and not tried in another form", async () => {
    await start();
    bmc.fail({ kind: "close-after", method: "POST" });

    const error = await use((media) => errorOf(media.insert(image, signal)));

    expect(error.uncertain).toBe(true);
    expect(writes()).toHaveLength(1);
  });
});

describe("ejecting", () => {
  test.each(["generic", "dell-idrac9", "supermicro", "lenovo-xcc"])(
    "on %s leaves the drive empty",
    async (profile) => {
      await start(profile);

      const state = await use(async (media) => {
        await media.insert(image, signal);
        await media.eject(signal);
        return await media.read(signal);
      });

      expect(state).toEqual({ inserted: false });
      expect(inserted()).toEqual([]);
    },
  );

  test("an empty drive sends nothing", async () => {
    await start("dell-idrac9");

    await use((media) => media.eject(signal));

    expect(writes()).toEqual([]);
  });

  test("finds the drive that holds something when another call had put it there", async () => {
    await start("dell-idrac9");
    const [, second] = bmc.media.slots;
    if (!second) throw new Error("no second drive");
    Object.assign(second, { inserted: true, image: image.url });

    await use((media) => media.eject(signal));

    expect(inserted()).toEqual([]);
  });
});

test("Supermicro: an ejected drive that keeps its image's name is empty", async () => {
  await start("supermicro");
  const [drive] = bmc.media.slots;
  if (!drive) throw new Error("no drive");
  Object.assign(drive, { inserted: false, image: image.url });

  expect(await use((media) => media.read(signal))).toEqual({ inserted: false });
});

test("plans name the request and change nothing", async () => {
  await start();

  const plans = await use(async (media) => [
    await media.plan(image, signal),
    await media.plan(undefined, signal),
  ]);

  const actions = "/redfish/v1/Managers/1/VirtualMedia/CD1/Actions";
  expect(plans).toEqual([
    `POST ${actions}/VirtualMedia.InsertMedia {"Image":"${image.url}"}`,
    `POST ${actions}/VirtualMedia.EjectMedia {}`,
  ]);
  expect(writes()).toEqual([]);
});

test("the drive is remembered: reading it takes one request, and one more when it is gone", async () => {
  await start();
  const hint = await withSession(bmc, {}, async (session) => {
    await mediaOf(session).read(signal);
    return session.hint();
  });
  bmc.forget();

  await use((media) => media.read(signal), hint);
  const known = [...bmc.log];
  const state = await use((media) => media.read(signal), {
    ...Object(hint),
    media: { slot: "/redfish/v1/gone" },
  });

  expect(known).toEqual(["GET /redfish/v1/Managers/1/VirtualMedia/CD1"]);
  expect(state).toEqual({ inserted: false });
});
