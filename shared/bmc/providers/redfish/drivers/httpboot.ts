import { BmcError } from "../../../../contract/bmc-error.ts";
import type { HttpBootDriver } from "../../../operations/httpboot.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { bootPlace, writeBootField } from "./boot-place.ts";

/** `Boot.HttpBootUri` of the system (DSP0268, ComputerSystem 1.9). */
export function redfishHttpBoot(resources: Resources): HttpBootDriver {
  const { system } = resources;
  const find = async (signal: AbortSignal) => {
    const place = await bootPlace(system, (boot) => boot.HttpBootUri !== undefined, signal);
    if (!place) throw new BmcError("unsupported", "the BMC does not take a URI for HTTP boot");
    return { ...place, uri: place.boot.HttpBootUri ?? "" };
  };
  const request = async (uri: string, signal: AbortSignal): Promise<WriteRequest> => {
    const { path, etag } = await find(signal);
    return { method: "PATCH", path, body: { Boot: { HttpBootUri: uri } }, etag };
  };
  return {
    read: async (signal) => (await find(signal)).uri,
    plan: async (uri, signal) => describeWrite(await request(uri, signal)),
    async write(uri, signal) {
      await writeBootField(resources, await find(signal), { HttpBootUri: uri }, signal);
    },
  };
}
