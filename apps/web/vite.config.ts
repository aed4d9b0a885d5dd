import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Writes a `.br` and a `.gz` file beside each text file, so that the API can send them without compressing. */
const precompress = (): Plugin => ({
  name: 'precompress',
  writeBundle({ dir: outDir = '' }) {
    for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(js|css|html|svg|json|webmanifest)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(bytes));
      writeFileSync(`${path}.gz`, gzipSync(bytes));
    }
  },
});

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
  plugins: [precompress()],
});
