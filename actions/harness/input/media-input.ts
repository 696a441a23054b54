import { text } from "./input.ts";

/** Credentials have no place in it: the BMC's answers, logs and results show the URL. */
export const MEDIA_URL = {
  pattern: /^(https?|nfs|cifs|smb):\/\/[^\s/@?#]+\/[^\s@]*$/i,
  expected: "is not an http, https, nfs, cifs or smb URL of an image, without credentials",
};

export const mediaUrl = text({
  env: "MEDIA_URL",
  description: "URL of the image; the BMC must be able to reach it",
  ...MEDIA_URL,
  required: true,
});
