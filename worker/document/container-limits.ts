import { Amount, ByteSize, Count } from "./value-types.ts";

/** In bytes. Engines accept no less. */
export const ContainerMemory = ByteSize(6 * 1_024 ** 2, 1_024 ** 4);
/** Processors; fractions are allowed. */
export const ContainerCpus = Amount(0.01, 1_024);
/** Processes and threads. */
export const ContainerPids = Count(1, 4_194_304);
