import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import type { Describe, Unusable } from "./described-machine.ts";

/** Makes paused objects unusable. */
export function unlessPaused<Content>(describe: Describe<Content>): Describe<Content | Unusable> {
  return (object, name) => {
    const described = describe(object, name);
    const annotation = pausingAnnotation(object);
    if (!described || annotation === undefined) return described;
    const problem = `metadata.annotations.${annotation} is set: the object is paused and left alone`;
    return { name, content: { kind: "unusable", isPaused: true, problems: [problem] } };
  };
}
