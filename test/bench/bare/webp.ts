import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';

/** Requests `count` encodes of one image, one after another, each from a file to a file. The answer is the number of images per second. */
export interface WebpAsk {
  from: string;
  to: string;
  count: number;
}

// The encoder alone, with the product's settings.
sharp.cache(false);
sharp.concurrency(1);
process.on('message', ({ from, to, count }: WebpAsk) => {
  void (async () => {
    const began = performance.now();
    for (let i = 0; i < count; i++) {
      const image = sharp(from, { failOn: 'error', autoOrient: true, sequentialRead: true });
      await writeFile(to, await image.webp({ effort: 2 }).toBuffer());
    }
    process.send?.(count / ((performance.now() - began) / 1000));
  })();
});
process.send?.('ready');
