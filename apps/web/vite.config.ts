import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { guideNames, parseGuide, toGuideFile, toServedMarkdown } from './guides/markdown.ts';
import { renderGuideList, renderGuidePage } from './guides/static-pages.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Writes a `.br` and a `.gz` file beside each text file, so that the API can send them without compressing. */
const precompress = (): Plugin => ({
  name: 'precompress',
  writeBundle({ dir: outDir = '' }) {
    for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(js|css|html|md|svg|json|webmanifest)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(bytes));
      writeFileSync(`${path}.gz`, gzipSync(bytes));
    }
  },
});

/**
 * Reads the guides at build time: `virtual:guides` lists them, and each has a module with its sections. Writes each guide also as HTML that is readable without
 * scripts, and as Markdown.
 */
const guides = (): Plugin => {
  const prefix = 'virtual:guide';
  const readFile = (name: string): string => readFileSync(join(here, '../..', toGuideFile(name)), 'utf8');
  const read = (name: string) => parseGuide(readFile(name));
  const toListItem = (name: string): string => {
    const { title, summary } = read(name);
    return `{ name: '${name}', ...${JSON.stringify({ title, summary })}, load: () => import('${prefix}/${name}') }`;
  };
  return {
    name: 'guides',
    resolveId: (id) => (id.startsWith(prefix) ? `\0${id}` : null),
    load: (id) => {
      if (id === `\0${prefix}s`) return `export const guides = [${guideNames.map(toListItem).join(',')}];`;
      if (!id.startsWith(`\0${prefix}/`)) return null;
      return `export const sections = ${JSON.stringify(read(id.slice(prefix.length + 2)).sections)};`;
    },
    writeBundle({ dir: outDir = '' }) {
      const page = readFileSync(join(outDir, 'reference.html'), 'utf8');
      const all = guideNames.map((name) => ({ name, ...read(name) }));
      mkdirSync(join(outDir, 'guides'), { recursive: true });
      writeFileSync(join(outDir, 'guides/index.html'), renderGuideList(page, all));
      for (const guide of all) {
        writeFileSync(join(outDir, `guides/${guide.name}.html`), renderGuidePage(page, guide, all));
        writeFileSync(join(outDir, `guides/${guide.name}.md`), toServedMarkdown(readFile(guide.name)));
      }
    },
  };
};

/** Builds the web client, the developer portal and the reference into `dist/web`, from where the API serves them. */
export default defineConfig({
  root: here,
  build: {
    outDir: fileURLToPath(new URL('../../dist/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy does not allow data URLs for scripts, and CSS has few images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: { input: ['index', 'developers', 'reference'].map((page) => join(here, `${page}.html`)) },
  },
  plugins: [guides(), precompress()],
});
