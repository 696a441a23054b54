import { expect, it } from "vitest";
import {
  controllerPause,
  pausingAnnotation,
} from "../../../../worker/kubernetes/client/pausing-annotation.ts";

const OWN = "pbnj-worker/paused";
const METAL3 = "baremetalhost.metal3.io/paused";
const CAPI = "cluster.x-k8s.io/paused";
const MOVED = "clusterctl.cluster.x-k8s.io/delete-for-move";

const object = (annotations: object) => ({ metadata: { annotations } });

it.each([
  [{ [OWN]: "fan replacement" }, OWN, "fan replacement"],
  [{ [METAL3]: "metal3.io/capm3" }, METAL3, "metal3.io/capm3"],
  [{ [CAPI]: "true" }, CAPI, "no reason given"],
  [{ [CAPI]: " " }, CAPI, "no reason given"],
  [{ [OWN]: "false" }, OWN, "false"],
  [{ [MOVED]: "" }, MOVED, "the object is moved to another cluster"],
  [{ [CAPI]: "", [METAL3]: "", [OWN]: "new disks" }, OWN, "new disks"],
])("an object is paused by %j, whatever the value", (annotations, name, reason) => {
  expect(pausingAnnotation(object(annotations))).toEqual({ name, reason });
});

it.each([{}, { metadata: {} }, object({ "example.org/paused": "yes" }), undefined])(
  "an object is in service without one: %j",
  (other) => {
    expect(pausingAnnotation(other)).toBeUndefined();
  },
);

it("this worker's own annotation stops no other controller", () => {
  expect(controllerPause(object({ [OWN]: "new disks" }))).toBeUndefined();
  expect(controllerPause(object({ [OWN]: "new disks", [METAL3]: "" }))).toMatchObject({ name: METAL3 });
});
