import type { JSX } from 'preact';
import { ErrorsPage } from './pages/errors-page.tsx';
import { EventsPage } from './pages/events-page.tsx';
import { GatewayPage } from './pages/gateway-page.tsx';
import { LimitsPage } from './pages/limits-page.tsx';
import { OverviewPage } from './pages/overview-page.tsx';
import { PermissionsPage } from './pages/permissions-page.tsx';
import { TypesPage } from './pages/types-page.tsx';

/** A page of the reference besides those of the operations. */
interface ReferencePage {
  /** The end of its path; empty for the first page. */
  name: string;
  title: string;
  Page: () => JSX.Element;
}

/** The pages of the reference besides those of the operations, in the order of the navigation. */
export const referencePages: readonly ReferencePage[] = [
  { name: '', title: 'Overview', Page: OverviewPage },
  { name: 'gateway', title: 'Gateway', Page: GatewayPage },
  { name: 'events', title: 'Events', Page: EventsPage },
  { name: 'permissions', title: 'Permissions', Page: PermissionsPage },
  { name: 'errors', title: 'Errors', Page: ErrorsPage },
  { name: 'limits', title: 'Limits', Page: LimitsPage },
  { name: 'types', title: 'Types', Page: TypesPage },
];
