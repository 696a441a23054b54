import { type Kind, keyOf } from "../../kubernetes/client/kinds.ts";
import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import { pauseOf } from "../../machines/pause.ts";
import type { Describe } from "./described-machine.ts";

/** Adds whether the object's annotations take its machine out of service. */
export function withPause<Content>(
  { kind }: Pick<Kind, "kind">,
  describe: Describe<Content>,
): Describe<Content> {
  return (object, name) => {
    const described = describe(object, name);
    const annotation = pausingAnnotation(object);
    if (!described || !annotation) return described;
    const paused = pauseOf(annotation.reason, `annotation ${annotation.name} of ${kind} ${keyOf(name)}`);
    return { ...described, paused };
  };
}
