import type { Action } from "./harness/action.ts";

const LOADERS = {
  "power-on": () => import("./power-on/action.ts"),
  "power-off": () => import("./power-off/action.ts"),
  "power-cycle": () => import("./power-cycle/action.ts"),
  "power-reset": () => import("./power-reset/action.ts"),
  "power-status": () => import("./power-status/action.ts"),
  "wait-for-power-state": () => import("./wait-for-power-state/action.ts"),
  "wait-for-boot": () => import("./wait-for-boot/action.ts"),
  "watch-console": () => import("./watch-console/action.ts"),
  "set-boot-device": () => import("./set-boot-device/action.ts"),
  "get-boot-device": () => import("./get-boot-device/action.ts"),
  "set-pxe-once": () => import("./set-pxe-once/action.ts"),
  "set-disk-persistent": () => import("./set-disk-persistent/action.ts"),
  "set-boot-order": () => import("./set-boot-order/action.ts"),
  "set-http-boot": () => import("./set-http-boot/action.ts"),
  "set-nic-pxe": () => import("./set-nic-pxe/action.ts"),
  "clear-boot-override": () => import("./clear-boot-override/action.ts"),
  "insert-virtual-media": () => import("./insert-virtual-media/action.ts"),
  "eject-virtual-media": () => import("./eject-virtual-media/action.ts"),
  "run-tasks": () => import("./run-tasks/action.ts"),
  check: () => import("./check/action.ts"),
  inventory: () => import("./inventory/action.ts"),
  "list-firmware": () => import("./list-firmware/action.ts"),
  "update-firmware": () => import("./update-firmware/action.ts"),
  "bmc-info": () => import("./bmc-info/action.ts"),
  "get-bmc-csr": () => import("./get-bmc-csr/action.ts"),
  "set-bmc-certificate": () => import("./set-bmc-certificate/action.ts"),
  "bmc-reset": () => import("./bmc-reset/action.ts"),
  "list-users": () => import("./list-users/action.ts"),
  "create-user": () => import("./create-user/action.ts"),
  "update-user": () => import("./update-user/action.ts"),
  "delete-user": () => import("./delete-user/action.ts"),
  "get-ntp": () => import("./get-ntp/action.ts"),
  "set-ntp": () => import("./set-ntp/action.ts"),
  "get-bmc-network": () => import("./get-bmc-network/action.ts"),
  "set-bmc-network": () => import("./set-bmc-network/action.ts"),
  "list-sel": () => import("./list-sel/action.ts"),
  "clear-sel": () => import("./clear-sel/action.ts"),
  "deactivate-sol": () => import("./deactivate-sol/action.ts"),
  "read-sensors": () => import("./read-sensors/action.ts"),
  "send-nmi": () => import("./send-nmi/action.ts"),
  "set-indicator": () => import("./set-indicator/action.ts"),
  "set-power-restore-policy": () => import("./set-power-restore-policy/action.ts"),
  "set-power-limit": () => import("./set-power-limit/action.ts"),
  "get-bios": () => import("./get-bios/action.ts"),
  "set-bios": () => import("./set-bios/action.ts"),
  "reset-bios": () => import("./reset-bios/action.ts"),
  "set-raid": () => import("./set-raid/action.ts"),
  "clear-raid": () => import("./clear-raid/action.ts"),
  "erase-drives": () => import("./erase-drives/action.ts"),
  "get-secure-boot": () => import("./get-secure-boot/action.ts"),
  "set-secure-boot": () => import("./set-secure-boot/action.ts"),
  "reset-secure-boot-keys": () => import("./reset-secure-boot-keys/action.ts"),
  "list-secure-boot-keys": () => import("./list-secure-boot-keys/action.ts"),
  "enroll-secure-boot-key": () => import("./enroll-secure-boot-key/action.ts"),
  "delete-secure-boot-key": () => import("./delete-secure-boot-key/action.ts"),
  screenshot: () => import("./screenshot/action.ts"),
} satisfies Record<string, () => Promise<{ default: unknown }>>;

/** The names of all actions. */
export const catalogue: readonly string[] = Object.keys(LOADERS);

export async function loadAction(name: string): Promise<Action | undefined> {
  if (!Object.hasOwn(LOADERS, name)) return undefined;
  const loaded = await LOADERS[name as keyof typeof LOADERS]();
  return loaded.default as unknown as Action;
}
