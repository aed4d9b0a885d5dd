import { readdirSync, readFileSync } from 'node:fs';

/** The folder of the guides for developers. */
export const guidesFolder = 'docs/guides';

/** The names of the guides' files. */
export const guideFiles = readdirSync(guidesFolder).filter((file) => file.endsWith('.md'));

/** The names of the programs of the guides. */
export const programFiles = readdirSync(`${guidesFolder}/code`);

const fence = /^```(?:js|py) file=(\S+)\n[\s\S]*?^```$/gm;

/** The programs that a guide shows. */
export const findPrograms = (guide: string): string[] => [...guide.matchAll(fence)].map(([, file = '']) => file);

/** A guide in which each block with a `file=` has the text of that program. */
export const fillFences = (guide: string, read = (file: string) => readFileSync(`${guidesFolder}/code/${file}`, 'utf8')): string =>
  guide.replaceAll(fence, (block, file: string) => `${block.slice(0, block.indexOf('\n'))}\n${read(file).trimEnd()}\n\`\`\``);
