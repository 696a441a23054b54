import type { Action } from "./harness/action.ts";

const LOADERS = {
  "power-on": () => import("./power-on/action.ts"),
  "power-off": () => import("./power-off/action.ts"),
  "power-cycle": () => import("./power-cycle/action.ts"),
  "power-reset": () => import("./power-reset/action.ts"),
  "power-status": () => import("./power-status/action.ts"),
  "set-boot-device": () => import("./set-boot-device/action.ts"),
  "set-pxe-once": () => import("./set-pxe-once/action.ts"),
} satisfies Record<string, () => Promise<{ default: unknown }>>;

/** The names of all actions. */
export const catalogue: readonly string[] = Object.keys(LOADERS);

export async function loadAction(name: string): Promise<Action | undefined> {
  if (!Object.hasOwn(LOADERS, name)) return undefined;
  const loaded = await LOADERS[name as keyof typeof LOADERS]();
  return loaded.default as unknown as Action;
}
