import type { V1LeaseSpec } from "@kubernetes/client-node";
import { same } from "../api/object.ts";
import type { KindRules } from "./kind-rules.ts";

/** All values together, decoded. */
const DATA_LIMIT = 1024 * 1024;
const DATA_KEY = /^[-._a-zA-Z0-9]+$/;

export const secretRules: KindRules = {
  complete(object) {
    object["type"] ??= "Opaque";
    const given = object["stringData"];
    if (given === undefined) return;
    // Only written, never read back.
    delete object["stringData"];
    const added = Object.entries(given as Record<string, string>).map(([key, text]) => [
      key,
      Buffer.from(text, "utf8").toString("base64"),
    ]);
    object["data"] = { ...textsOf(object["data"]), ...Object.fromEntries(added) };
  },
  check(errors, object) {
    const data = textsOf(object["data"]);
    let size = 0;
    for (const [key, value] of Object.entries(data)) {
      if (!DATA_KEY.test(key) || key === "." || key === ".." || key.length > 253)
        errors.invalid(
          `data[${key}]`,
          key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        );
      size += Buffer.from(value, "base64").length;
    }
    if (size > DATA_LIMIT) errors.tooLong("data", DATA_LIMIT);
  },
  checkUpdate(errors, next, previous) {
    if (next["type"] !== previous["type"]) errors.invalid("type", next["type"], "field is immutable");
    if (previous["immutable"] !== true) return;
    if (next["immutable"] !== true)
      errors.forbidden("immutable", "field is immutable when `immutable` is set");
    if (!same(next["data"], previous["data"]))
      errors.forbidden("data", "field is immutable when `immutable` is set");
  },
};

export const configMapRules: KindRules = {
  check(errors, object) {
    const data = { ...textsOf(object["data"]), ...textsOf(object["binaryData"]) };
    let size = 0;
    for (const [key, value] of Object.entries(data)) {
      if (!DATA_KEY.test(key))
        errors.invalid(
          `data[${key}]`,
          key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        );
      size += Buffer.byteLength(value);
    }
    if (size > DATA_LIMIT) errors.tooLong("", DATA_LIMIT);
  },
  checkUpdate(errors, next, previous) {
    if (previous["immutable"] === true && !same(next["data"], previous["data"]))
      errors.forbidden("data", "field is immutable when `immutable` is set");
  },
};

export const leaseRules: KindRules = {
  check(errors, object) {
    const { leaseDurationSeconds, leaseTransitions } = (object.spec ?? {}) as V1LeaseSpec;
    if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
      errors.invalid("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0");
    errors.notNegative("spec.leaseTransitions", leaseTransitions);
  },
  complete(object) {
    object.spec ??= {};
  },
};

export const eventRules: KindRules = {
  complete(object) {
    object["source"] ??= {};
    for (const time of ["firstTimestamp", "lastTimestamp", "eventTime"]) object[time] ??= null;
    object["reportingComponent"] ??= "";
    object["reportingInstance"] ??= "";
  },
  check(errors, object) {
    const involved = (object["involvedObject"] ?? {}) as { namespace?: string };
    const namespace = object.metadata.namespace ?? "";
    if ((involved.namespace ?? "default") !== namespace)
      errors.invalid("involvedObject.namespace", involved.namespace ?? "", "does not match event.namespace");
  },
};

export const namespaceRules: KindRules = {
  prepare(object) {
    object.metadata.labels = {
      "kubernetes.io/metadata.name": object.metadata.name ?? "",
      ...object.metadata.labels,
    };
    object.spec = { finalizers: ["kubernetes"] };
    object.status = { phase: "Active" };
  },
  check: () => undefined,
};

function textsOf(value: unknown): Readonly<Record<string, string>> {
  return (value ?? {}) as Record<string, string>;
}
