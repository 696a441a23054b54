import type { Answer } from "./answer.ts";

/** A request with its path without the query. */
export interface ResourceRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
}

/** A part of the BMC's tree of resources. */
export interface ResourceService {
  /** Returns undefined if the path does not belong to this part. */
  answer(request: ResourceRequest): Answer | undefined;
}

/** A complete tree, such as a recorded machine's, that replaces the profile's. */
export interface WholeTree extends ResourceService {
  /** The service root, which is shown without a login. */
  readonly root: unknown;
  accepts(username: string, password: string): boolean;
  /** Answers a request. `request` is the method and the path with its query. */
  play(request: string, asked: ResourceRequest): Answer | undefined;
}

/** Makes a collection of links. The BMC adds pages and `$expand` when it is sent. */
export function collection(path: string, name: string, members: readonly string[]) {
  return {
    "@odata.id": path,
    "@odata.type": `#${name}Collection.${name}Collection`,
    Name: name,
    "Members@odata.count": members.length,
    Members: members.map((member) => ({ "@odata.id": member })),
  };
}
