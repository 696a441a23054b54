import type { Answer } from "./answer.ts";

/** One request, its path without query. */
export interface ResourceRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
}

/** A part of the BMC's tree of resources. */
export interface ResourceService {
  /** Undefined where the path is not this part's. */
  answer(request: ResourceRequest): Answer | undefined;
}

/** A whole tree in place of the profile's: a recorded machine. */
export interface WholeTree extends ResourceService {
  /** The service root, which is shown without a login. */
  readonly root: unknown;
  accepts(username: string, password: string): boolean;
  /** `request` is the method and the path with its query. */
  play(request: string, asked: ResourceRequest): Answer | undefined;
}

/** A collection of links; the BMC pages and expands it on its way out. */
export function collection(path: string, name: string, members: readonly string[]) {
  return {
    "@odata.id": path,
    "@odata.type": `#${name}Collection.${name}Collection`,
    Name: name,
    "Members@odata.count": members.length,
    Members: members.map((member) => ({ "@odata.id": member })),
  };
}
