import type { Answer } from "./answer.ts";

const ROOT = "/redfish/v1";

/** Returns a document that clients may read without a login to discover the service (DSP0266 sections 6.6, 7.3 and 13.3.2). */
export function odataDocument(path: string, root: unknown): Answer | undefined {
  switch (path) {
    case "/redfish":
      return { status: 200, body: { v1: `${ROOT}/` } };
    case ROOT:
      return { status: 200, body: root };
    case `${ROOT}/odata`: {
      const value = Object.entries(root as Record<string, unknown>).flatMap(([name, entry]) => {
        const url = (entry as { "@odata.id"?: string } | null)?.["@odata.id"];
        return url === undefined ? [] : [{ name, kind: "Singleton", url }];
      });
      const service = { name: "Service", kind: "Singleton", url: `${ROOT}/` };
      const context = `${ROOT}/$metadata`;
      return { status: 200, body: { "@odata.context": context, value: [service, ...value] } };
    }
    case `${ROOT}/$metadata`:
      return { status: 200, body: METADATA, headers: { "Content-Type": "application/xml;charset=utf-8" } };
    default:
      return undefined;
  }
}

const SCHEMAS = "http://redfish.dmtf.org/schemas/v1";
const include = (file: string, namespace: string) =>
  `<edmx:Reference Uri="${SCHEMAS}/${file}_v1.xml"><edmx:Include Namespace="${namespace}"/></edmx:Reference>`;

/** Only the document's container, because clients get the schemas from DMTF. */
const METADATA = [
  '<?xml version="1.0" encoding="UTF-8"?>',
  '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">',
  include("ServiceRoot", "ServiceRoot"),
  include("ServiceRoot", "ServiceRoot.v1_9_0"),
  '<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">',
  '<EntityContainer Name="Service" Extends="ServiceRoot.v1_9_0.ServiceContainer"/>',
  "</Schema></edmx:DataServices></edmx:Edmx>",
].join("");
