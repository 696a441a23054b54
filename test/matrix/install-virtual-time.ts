import { installVirtualTime } from "./virtual-time.ts";

/** Imported before anything that keeps a clock or a timer. */
installVirtualTime();
