/** Characters that change the direction of the text around them. In a name or link they can make the text look like another text. */
const directionMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns a file name that is safe to show. Direction marks are shown as a replacement character, so that `gpj.exe` cannot look like `exe.jpg`. */
export const safeFileName = (name: string): string => name.replace(directionMarks, '\ufffd');

/** Returns the text of a link that is safe to show: direction marks are shown URL-encoded. */
export const safeLinkText = (url: string): string => url.replace(directionMarks, encodeURIComponent);
