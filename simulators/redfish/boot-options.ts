import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const Patch = z.strictObject({
  Boot: z.union([
    z.strictObject({ BootOrder: z.array(z.string()) }),
    z.strictObject({ HttpBootUri: z.string() }),
  ]),
});
type Patch = z.infer<typeof Patch>;

/** Shows the boot order and the URI of HTTP boot in a System's `Boot`. */
export function showBootOrder(
  machine: SimulatedMachine,
  profile: RedfishProfile,
  systemPath: string,
): object {
  return {
    ...(profile.bootOrder && {
      BootOrder: machine.bootOrder,
      BootOptions: { "@odata.id": `${systemPath}/BootOptions` },
    }),
    ...(profile.httpBootUri && { HttpBootUri: machine.httpBootUri }),
  };
}

export const isBootOrderPatch = (body: unknown): body is Patch => Patch.safeParse(body).success;

export function patchBootOrder({ Boot: patch }: Patch, machine: SimulatedMachine): Answer {
  if ("HttpBootUri" in patch) {
    machine.httpBootUri = patch.HttpBootUri;
    return noContent;
  }
  if (patch.BootOrder.toSorted().join() !== machine.bootOrder.toSorted().join()) {
    return refusal(400, "Base.1.8.PropertyValueNotInList", "BootOrder must hold each boot option once.");
  }
  machine.bootOrder = patch.BootOrder;
  return noContent;
}

/** The boot options of a System. */
export class SimulatedBootOptions implements ResourceService {
  readonly #path: string;
  readonly #machine: SimulatedMachine;

  constructor(systemPath: string, machine: SimulatedMachine) {
    this.#path = `${systemPath}/BootOptions`;
    this.#machine = machine;
  }

  answer({ method, path }: ResourceRequest): Answer | undefined {
    if (path !== this.#path && !path.startsWith(`${this.#path}/`)) return undefined;
    if (method !== "GET") return methodNotAllowed(method);
    const { bootOptions } = this.#machine;
    if (path === this.#path) {
      return ok(
        collection(
          path,
          "BootOption",
          Object.keys(bootOptions).map((id) => `${path}/${id}`),
        ),
      );
    }
    const id = path.slice(this.#path.length + 1);
    const name = bootOptions[id];
    if (name === undefined) return notFound(path);
    return ok(resource(path, "BootOption", { Name: name, BootOptionReference: id, DisplayName: name }));
  }
}
