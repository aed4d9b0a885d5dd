import type { JSX } from 'preact';
import { OverviewPage } from './pages/overview-page.tsx';

/** A page of the reference besides those of the operations. */
interface ReferencePage {
  /** The end of its path; empty for the first page. */
  name: string;
  title: string;
  Page: () => JSX.Element;
}

/** The pages of the reference besides those of the operations, in the order of the navigation. */
export const referencePages: readonly ReferencePage[] = [{ name: '', title: 'Overview', Page: OverviewPage }];
