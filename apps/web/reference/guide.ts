import type { ComponentChildren } from 'preact';

/** A part of an article with a heading and an anchor of its own. */
export interface ArticleSection {
  /** The anchor: unique on the page, lowercase words joined by hyphens. */
  id: string;
  title: string;
  /** The words of the section without marks, for the search. */
  text: string;
  render: () => ComponentChildren;
}

/** A guide at `/developers/guides/<name>`. Its sections are loaded when it is opened or searched. */
export interface Guide {
  name: string;
  title: string;
  /** What the reader can do afterwards, in one sentence. */
  summary: string;
  load: () => Promise<readonly ArticleSection[]>;
}
