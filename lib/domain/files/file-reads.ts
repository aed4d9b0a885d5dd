import { refuse } from '../../base/errors.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { Platform } from '../../store/platform.ts';

/** `Retry-After` for an image that is being converted, in seconds. */
const retryAfterSecs = 2;

/** The length of the key of a file: 128 random bits in hexadecimal. */
export const fileKeyChars = 32;
const keyPattern = new RegExp(`^[0-9a-f]{${fileKeyChars}}$`);

/**
 * Returns the file of `key`. Refuses with 404 if `key` is unknown or the file is being deleted, and with 503 while its image is being converted
 * (docs/behavior/messages.md#images).
 */
export async function requireServableFile(platform: Platform, key: string): Promise<FileDoc> {
  const file: FileDoc | null = keyPattern.test(key) ? await platform.db.files.findOne({ key }) : null;
  if (!file || file.state === 'freed') return refuse('not_found', { what: 'file' });
  if (file.state === 'waiting') return refuse('unavailable', undefined, { retryAfter: retryAfterSecs });
  return file;
}

/**
 * Whether a browser may show a file of this type inline: raster images, audio and video. All others are downloads (docs/behavior/messages.md#serving-files),
 * also audio and video types in XML, because browsers open any XML type as a document.
 */
export const isShownInline = ({ contentType }: Pick<FileDoc, 'contentType'>): boolean =>
  /^(?:image\/(?:png|jpeg|webp|avif|tiff|gif)|video\/[\w.-]+|audio\/[\w.-]+)$/.test(contentType);

/**
 * The type that a file is served with: its own if it is shown inline or plain text, else that of unknown bytes. A type such as `text/javascript` could be used by
 * a page of this origin as a script, a style, a document or a service worker.
 */
export const getServedType = (file: Pick<FileDoc, 'contentType'>): string =>
  isShownInline(file) || file.contentType === 'text/plain' ? file.contentType : 'application/octet-stream';
