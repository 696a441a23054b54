import type { JsonObject } from "./object.ts";
import { qualifiedResource, type ResourceType } from "./resource-types.ts";

/** A refused request, sent as a metav1.Status. */
export class ApiFailure extends Error {
  readonly code: number;
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = "ApiFailure";
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  toStatus(): JsonObject {
    const { code, reason, message, retryAfterSeconds } = this;
    const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason,
      details,
      code,
    };
  }
}

export const badRequest = (message: string) => new ApiFailure(400, "BadRequest", message);
export const unauthorized = () => new ApiFailure(401, "Unauthorized", "Unauthorized");
export const expired = (message: string) => new ApiFailure(410, "Expired", message);
export const methodNotAllowed = () =>
  new ApiFailure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
export const noSuchResource = () =>
  new ApiFailure(404, "NotFound", "the server could not find the requested resource");

export function notFound(type: ResourceType, name: string): ApiFailure {
  return new ApiFailure(404, "NotFound", `${qualifiedResource(type)} "${name}" not found`);
}

export function alreadyExists(type: ResourceType, name: string): ApiFailure {
  return new ApiFailure(409, "AlreadyExists", `${qualifiedResource(type)} "${name}" already exists`);
}

export function conflict(type: ResourceType, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(type)} "${name}": ${why}`;
  return new ApiFailure(409, "Conflict", message);
}

export function forbidden(type: ResourceType, name: string, why: string): ApiFailure {
  const subject = name === "" ? qualifiedResource(type) : `${qualifiedResource(type)} "${name}"`;
  return new ApiFailure(403, "Forbidden", `${subject} is forbidden: ${why}`);
}

export function invalid({ kind, group }: ResourceType, name: string, why: string): ApiFailure {
  const qualified = group === "" ? kind : `${kind}.${group}`;
  return new ApiFailure(422, "Invalid", `${qualified} "${name}" is invalid: ${why}`);
}
