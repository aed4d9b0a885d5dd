import { refuse } from '../base/errors.ts';
import type { FileDoc } from '../store/models/file.ts';
import type { Platform } from '../store/platform.ts';

/** After how many seconds to ask again for an image that is being converted. */
const retryAfterSecs = 2;

/** The file that `key` opens. 404 for an unknown or malformed key and for a file that goes; 503 while its image is being converted (decisions 5, Images). */
export async function servedFile(platform: Platform, key: string): Promise<FileDoc> {
  const file: FileDoc | null = /^[0-9a-f]{32}$/.test(key) ? await platform.db.files.findOne({ key }).lean() : null;
  if (!file || file.state === 'freed') return refuse('not_found', { what: 'file' });
  if (file.state === 'waiting') return refuse('unavailable', undefined, { retryAfter: retryAfterSecs });
  return file;
}

/**
 * Types that a browser may show where it stands: raster images, audio and video. Anything else is a download (decisions 5, Files),
 * also what says that it is audio or video in XML, as browsers make a document of any such type.
 */
export const shownInline = ({ contentType }: Pick<FileDoc, 'contentType'>): boolean =>
  /^(?:image\/(?:png|jpeg|webp|avif|tiff|gif)|video\/[\w.-]+|audio\/[\w.-]+)$/.test(contentType);
