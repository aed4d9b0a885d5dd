/** Characters that turn the direction of the text around them; in a name or link they can make it read as another. */
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A file name as it is, whatever it tries: direction marks are shown as a sign, so that `gpj.exe` stays one. */
export const plainName = (name: string): string => name.replace(turning, '\ufffd');

/** A link's text as it is: direction marks are shown encoded. */
export const plainLink = (url: string): string => url.replace(turning, encodeURIComponent);
