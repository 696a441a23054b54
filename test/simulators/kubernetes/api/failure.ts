import type { JsonObject } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";

/** One entry of `details.causes`. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

export interface FailureDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

/** A refusal that travels as a metav1.Status. */
export class ApiFailure extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: FailureDetails | undefined;
  readonly metadata: JsonObject;

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: FailureDetails,
    metadata: JsonObject = {},
  ) {
    super(message);
    this.name = "ApiFailure";
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.metadata = metadata;
  }

  toStatus(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.metadata,
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details ? { details: this.details } : {}),
      code: this.code,
    };
  }
}

/** An answer that is no Status: what the API server says of a path that nothing serves. */
export class PageNotFound extends Error {}

export const badRequest = (message: string) => new ApiFailure(400, "BadRequest", message);

export const unauthorized = () => new ApiFailure(401, "Unauthorized", "Unauthorized");

export const methodNotAllowed = () =>
  new ApiFailure(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );

export const noSuchResource = () =>
  new ApiFailure(404, "NotFound", "the server could not find the requested resource", {});

export const unsupportedMediaType = (accepted: readonly string[]) =>
  new ApiFailure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

export const bodyTooLarge = (limit: number) =>
  new ApiFailure(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`, {});

export const expired = (message: string, metadata: JsonObject = {}) =>
  new ApiFailure(410, "Expired", message, undefined, metadata);

export function notFound(type: ResourceType, name: string): ApiFailure {
  return new ApiFailure(404, "NotFound", `${qualifiedResource(type)} "${name}" not found`, of(type, name));
}

export function alreadyExists(type: ResourceType, name: string): ApiFailure {
  const message = `${qualifiedResource(type)} "${name}" already exists`;
  return new ApiFailure(409, "AlreadyExists", message, of(type, name));
}

export function conflict(type: ResourceType, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(type)} "${name}": ${why}`;
  return new ApiFailure(409, "Conflict", message, of(type, name));
}

/** The optimistic lock did not hold. */
export function modified(type: ResourceType, name: string): ApiFailure {
  return conflict(
    type,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

export function forbidden(type: ResourceType, name: string, why: string): ApiFailure {
  const subject = name === "" ? qualifiedResource(type) : `${qualifiedResource(type)} "${name}"`;
  return new ApiFailure(403, "Forbidden", `${subject} is forbidden: ${why}`, of(type, name));
}

/** 422 with what is wrong, field by field. `kind` and `group` say whose fields they are. */
export function invalid(
  { kind, group }: { readonly kind: string; readonly group: string },
  name: string,
  causes: readonly Cause[],
): ApiFailure {
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const qualified = group === "" ? kind : `${kind}.${group}`;
  return new ApiFailure(422, "Invalid", `${qualified} "${name}" is invalid: ${list}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind,
    causes,
  });
}

/** `jobs.batch`, and `secrets` in the group without a name. */
export function qualifiedResource({ group, plural }: ResourceType): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function of({ group, plural }: ResourceType, name: string): FailureDetails {
  return { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: plural };
}
