import { describe, expect, test } from "vitest";
import { startRpcConsumer } from "../../../../simulators/rpc/consumer.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";
import { clientOf, errorOf } from "../service-lab.ts";

const signal = new AbortController().signal;
const ISO = "http://192.0.2.9/rescue.iso";
const OTHER_ISO = "http://192.0.2.9/other.iso";
const EJECT_OR_INSERT = /VirtualMedia\.(Eject|Insert)Media$/;

/** A Redfish BMC whose virtual drive holds that image, or none. */
async function driveWith(image: string | null) {
  const lab = await redfishLab();
  const drive = lab.bmc.media.slots.find(({ types }) => types.includes("CD"));
  if (!drive) throw new Error("the simulator has no virtual drive");
  Object.assign(drive, { inserted: image !== null, image });
  return Object.assign(lab, { drive });
}

describe("a plan", () => {
  test.each([
    ["inserting", ISO, ISO],
    ["ejecting", undefined, ""],
  ])("of %s where the drive cannot be read is what would be sent in any case", async (_, url, mediaUrl) => {
    const consumer = await startRpcConsumer({ tls: "http" });
    await using client = clientOf({ host: "node-1", rpc: { url: consumer.http.url } });

    const plan = await client.planMedia(url, signal);

    expect(plan).toEqual({
      before: undefined,
      steps: [`setVirtualMedia ${JSON.stringify({ mediaUrl, kind: "CD" })}`],
    });
    expect(consumer.calls.filter(({ method }) => method === "setVirtualMedia")).toEqual([]);
    await consumer.close();
  });
});

test("an image that the BMC takes and does not hold is a verify error with asked and held", async () => {
  await using lab = await driveWith(null);
  lab.bmc.fail({ kind: "forget", method: "POST", path: EJECT_OR_INSERT, times: 100 });

  const error = await errorOf(lab.client.insertMedia(ISO, signal));

  expect(error).toMatchObject({
    class: "verify",
    message: `redfish: asked for media ${ISO}, the BMC has no media`,
  });
});

test("an image whose insertion got lost once is in at the second attempt", async () => {
  await using lab = await driveWith(null);
  lab.bmc.fail({ kind: "forget", method: "POST", path: EJECT_OR_INSERT });

  const report = await lab.client.insertMedia(ISO, signal);

  expect(report.after).toEqual({ inserted: true, image: ISO });
  expect(lab.drive).toMatchObject({ inserted: true, image: ISO });
});

test("an image that the BMC does not eject is a verify error that names it", async () => {
  await using lab = await driveWith(OTHER_ISO);
  lab.bmc.fail({ kind: "forget", method: "POST", path: EJECT_OR_INSERT, times: 100 });

  const inserting = await errorOf(lab.client.insertMedia(ISO, signal));
  const ejecting = await errorOf(lab.client.ejectMedia(signal));

  expect([inserting, ejecting].map((error) => [error.class, error.message])).toEqual(
    Array(2).fill(["verify", `redfish: asked to eject, the BMC still has ${OTHER_ISO}`]),
  );
});

describe("an image that the BMC refuses", () => {
  const posts = (log: readonly string[]) => log.filter((line) => !line.startsWith("GET")).length;

  test.each([
    ["generic", 400, "Base.1.8.GeneralError", 9],
    ["generic", 400, "Base.1.8.ActionParameterValueFormatError", 8],
    ["generic", 400, "Base.1.8.CouldNotEstablishConnection", 9],
    ["generic", 400, "Base.1.8.SourceDoesNotSupportProtocol", 9],
    ["generic", 400, "Base.1.8.ResourceAtUriUnauthorized", 9],
    ["dell-idrac9", 400, "IDRAC.2.8.RAC0904", 8],
    ["dell-idrac9", 500, "IDRAC.2.8.RAC0904", 22],
    ["supermicro", 400, "Base.1.0.GeneralError", 8],
    ["lenovo-xcc", 400, "Base.1.0.GeneralError", 8],
  ])(
    "on %s, with %i %s, keeps its own words, in %i requests, and is sent again only after a 500",
    async (profile, status, messageId, requests) => {
      await using lab = await redfishLab({}, { profile });
      const message = "The Image at the address cannot be read.";
      lab.bmc.fail({
        kind: "refuse",
        method: "POST",
        path: /InsertMedia/,
        status,
        messageId,
        message,
        times: 99,
      });
      lab.bmc.fail({
        kind: "refuse",
        method: "PATCH",
        path: /VirtualMedia/,
        status,
        messageId,
        message,
        times: 99,
      });

      const error = await errorOf(lab.client.insertMedia(ISO, signal));

      expect(error.message).toContain(`answered ${status}: ${message} (${messageId})`);
      expect([posts(lab.bmc.log), lab.bmc.log.length]).toEqual([status === 500 ? 3 : 1, requests]);
    },
  );
});
