/** The guides of `docs/guides`, which the build reads (apps/web/vite.config.ts). */
declare module 'virtual:guides' {
  export const guides: readonly {
    name: string;
    title: string;
    summary: string;
    load: () => Promise<{ sections: readonly import('./node.ts').GuideSection[] }>;
  }[];
}
