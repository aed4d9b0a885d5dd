import type { JobData } from '../lib/contract/jobs.ts';
import { convertImage } from '../lib/domain/files/image-conversion.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { imageEncoder } from './image-encoder.ts';

/** Converts an uploaded image to its final form. Running it again changes nothing. */
export const convertImageJob = (platform: WorkerPlatform, { fileId }: JobData<'convert-image'>): Promise<void> =>
  convertImage(platform, fileId, imageEncoder.encode);
