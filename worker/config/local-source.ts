/** The name of the machine source that is the worker's own cluster, unless the settings name it. */
export const LOCAL_SOURCE = "local";
