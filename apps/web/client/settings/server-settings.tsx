import type { ComponentType, JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import type { Permission } from '../../../../lib/base/permissions.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { may } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { NotFound } from '../page.tsx';
import { AboutPage } from './about-page.tsx';
import { AuditPage } from './audit-page.tsx';
import { BansPage } from './bans-page.tsx';
import { ChannelsPage } from './channels/channels-page.tsx';
import { CommunityPage } from './community-page.tsx';
import { DiscoverySettingsPage } from './discovery-settings-page.tsx';
import { FollowersPage } from './followers-page.tsx';
import { SettingsFrame, type SettingsItem } from './frame.tsx';
import { InvitesPage } from './invites-page.tsx';
import { MembersPage } from './members-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { RolesPage } from './roles/roles-page.tsx';
import { WebhooksPage } from './webhooks/webhooks-page.tsx';

interface Entry extends SettingsItem {
  component: ComponentType<{ server: Server }>;
  /** Whether the page is offered to the user. */
  offered: (server: Server) => boolean;
}

const anyOf =
  (...permissions: Permission[]) =>
  ({ id }: Server): boolean =>
    permissions.some((permission) => may(permission, id));

/** Whether the user has one of the permissions in any channel, because a permission may be granted in one channel only. */
const inAnyChannel =
  (permissions: Permission[], matches: (channel: Channel) => boolean = () => true) =>
  ({ id, channels }: Server): boolean =>
    channels.some((channel) => matches(channel) && permissions.some((permission) => may(permission, id, channel)));

const entries: readonly Entry[] = [
  { page: 'overview', label: 'Overview', component: OverviewPage, offered: anyOf('Manage Server') },
  {
    page: 'channels',
    label: 'Channels',
    component: ChannelsPage,
    offered: (server) => anyOf('Manage Channels', 'Manage Roles')(server) || inAnyChannel(['Manage Channels', 'Manage Roles'])(server),
  },
  { page: 'roles', label: 'Roles', component: RolesPage, offered: anyOf('Manage Roles') },
  { page: 'members', label: 'Members', component: MembersPage, offered: anyOf('Manage Roles', 'Kick Members', 'Ban Members') },
  { page: 'bans', label: 'Bans', component: BansPage, offered: anyOf('Ban Members') },
  { page: 'invites', label: 'Invites', component: InvitesPage, offered: anyOf('Manage Server') },
  {
    page: 'webhooks',
    label: 'Webhooks',
    component: WebhooksPage,
    offered: inAnyChannel(['Manage Webhooks'], ({ kind }) => channelKinds[kind].hasThreadsAndWebhooks),
  },
  {
    page: 'followers',
    label: 'Followers',
    component: FollowersPage,
    offered: (server) => inAnyChannel(['Manage Webhooks'])(server) && server.channels.some(({ kind }) => channelKinds[kind].canBeFollowed),
  },
  { page: 'community', label: 'Community', component: CommunityPage, offered: anyOf('Manage Server') },
  { page: 'discovery', label: 'Discovery', component: DiscoverySettingsPage, offered: anyOf('Manage Server') },
  { page: 'audit-log', label: 'Audit log', component: AuditPage, offered: anyOf('Manage Server') },
  { page: 'about', label: 'About', component: AboutPage, offered: () => true },
];

const about = entries.at(-1) as Entry;

/** The text for a path whose page is not offered to the user, or no longer. */
function PageNotFound(): JSX.Element {
  return <p>This page doesn’t exist or you don’t have access.</p>;
}

/** The settings of a server: the pages that the user may use. A user who may use none sees information about the server and the button to leave it. */
export function ServerSettings(): JSX.Element {
  const { serverId = '', page } = useRoute().params;
  const server = servers.value.get(serverId);
  if (!server) return <NotFound />;
  const offered = entries.filter((entry) => entry.offered(server));
  const current = page
    ? (offered.find((entry) => entry.page === page) ?? { page, label: 'Page not found', component: PageNotFound })
    : (offered[0] ?? about);
  const Page = current.component;
  return (
    <SettingsFrame title={server.name} base={`/servers/${serverId}/settings`} items={offered} current={current} key={serverId}>
      <Page server={server} />
    </SettingsFrame>
  );
}
