import { expect, it } from "vitest";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { HttpFaults, type HttpWords, httpFaults } from "./http-faults.ts";
import { MOVES, movedBody } from "./moves.ts";

const WORDS: HttpWords = { errorObject: "{}", hasTasks: true, readsOnly: (method) => method === "GET" };
const RESET = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";

/** Sends a forced power-off whose answer has this fault; what came back, and whether the machine was told. */
async function powerOffWith(name: string) {
  await using bmc = await startRedfishBmc({ tls: "http" });
  const faults = new HttpFaults(bmc, WORDS, { at: 2, name });
  const authorization = `Basic ${Buffer.from("admin:calvin").toString("base64")}`;
  const headers = { authorization, "Content-Type": "application/json" };
  await fetch(`${bmc.url}/redfish/v1/Systems/1`, { headers });
  const body = JSON.stringify({ ResetType: "ForceOff" });
  const sent = await fetch(`${bmc.url}${RESET}`, { method: "POST", headers, body, redirect: "manual" }).catch(
    () => undefined,
  );
  const text = await sent?.text().catch(() => "cut");
  return {
    status: sent?.status,
    text,
    done: bmc.machine.count("off"),
    hit: faults.hit,
    writes: faults.writes,
  };
}

it.each(httpFaults("POST", WORDS))("%s carries the request out or not, as it is named", async (name) => {
  const { done, hit, status, text, writes } = await powerOffWith(name);

  expect(done).toBe(name.endsWith("-after") ? 1 : 0);
  expect(hit).toBe(`POST ${RESET}`);
  expect(writes).toMatchObject([{ method: "POST", status: name.endsWith("-after") ? 204 : undefined }]);
  const [kind = ""] = name.split("-");
  if (/^\d+$/.test(kind)) expect(status).toBe(Number(kind));
  if (kind === "lost") expect(status).toBeUndefined();
  if (kind === "half") expect(text).toBe("cut");
  if (kind === "task") expect(status).toBe(202);
});

it("members that have changed places are found under each other's address and ID", () => {
  const drives = MOVES["moved-drives"];
  if (!drives) throw new Error("there is no such move");
  const drive = { "@odata.id": "/redfish/v1/Systems/1/Storage/1/Drives/0", Id: "0", SerialNumber: "DISK-0" };
  const links = { Drives: [{ "@odata.id": drive["@odata.id"] }], Id: "0" };

  expect(movedBody(drives, drive)).toEqual({
    ...drive,
    "@odata.id": "/redfish/v1/Systems/1/Storage/1/Drives/2",
    Id: "2",
  });
  expect(movedBody(drives, links)).toEqual({
    Drives: [{ "@odata.id": "/redfish/v1/Systems/1/Storage/1/Drives/2" }],
    Id: "0",
  });
  expect(movedBody(drives, "/redfish/v1/Systems/1/Storage/1/Drives/1")).toBe(
    "/redfish/v1/Systems/1/Storage/1/Drives/1",
  );
});
