import { expect, test } from "vitest";
import { shownBy } from "../../../simulators/recorded/profile.ts";
import { isBody, linkOf, RecordedResources } from "../../../simulators/recorded/resources.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { redfishProfile, redfishProfiles } from "../../../simulators/redfish/profiles.ts";
import { differences } from "./profile-differences.ts";

/** Fields that no resource shows: `field` and what it looks like. */
const ALIKE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  certificates: { "pem-only": "replace" },
  etagSent: { doubled: "strong", gzip: "strong", property: "strong" },
  bootOwner: { "future-state": "system" },
};

/** Every resource that the BMC's links lead to. */
async function resourcesOf(bmc: RedfishBmc): Promise<RecordedResources> {
  const authorization = `Basic ${Buffer.from(`${bmc.username}:${bmc.password}`).toString("base64")}`;
  const found: Record<string, unknown> = {};
  const follow = async (path: string): Promise<void> => {
    if (path in found || path.includes("#")) return;
    const answer = await fetch(new URL(path, bmc.url), { headers: { authorization } });
    const etag = answer.headers.get("etag");
    const body: unknown = answer.ok ? await answer.json() : undefined;
    found[path] = isBody(body) && etag !== null ? { ...body, "@odata.etag": etag } : body;
    for (const link of linksIn(body)) await follow(link);
  };
  await follow("/redfish/v1");
  return new RecordedResources(found);
}

function linksIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own =
    linkOf(value) ?? ("@Redfish.ActionInfo" in value ? String(value["@Redfish.ActionInfo"]) : undefined);
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(linksIn)];
}

test.each(Object.keys(redfishProfiles))("a machine of the profile %s shows that profile", async (name) => {
  const { pageSize: _, ...profile } = redfishProfile(name);
  const bmc = await startRedfishBmc({ tls: "http", profile });
  bmc.machine.bootProgress = { state: "OSRunning" };
  bmc.sel.add("OK", "first", "2026-01-01T00:00:00Z");
  bmc.sel.add("OK", "second", "2026-01-02T00:00:00Z");

  const shown = shownBy(await resourcesOf(bmc));
  await bmc.close();

  const looks = Object.entries(ALIKE).map(([field, like]) => {
    const value = String(profile[field as keyof typeof profile]);
    return [field, like[value] ?? value];
  });
  expect(differences({ ...profile, ...Object.fromEntries(looks) }, shown)).toEqual({});
});
