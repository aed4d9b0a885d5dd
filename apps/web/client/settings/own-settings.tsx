import type { ComponentType, JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { NotFound } from '../page.tsx';
import { AccountPage } from './account-page.tsx';
import { AppearancePage } from './appearance-page.tsx';
import { SettingsFrame, type SettingsItem } from './frame.tsx';
import { ProfilePage } from './profile-page.tsx';
import { StatusPage } from './status-page.tsx';

/** The link to the developer portal, which is a separate page. */
function DeveloperPage(): JSX.Element {
  return (
    <>
      <p>In the developer portal, you can create applications: bots with slash commands that you add to your servers.</p>
      <p>
        <a class="button main" href="/developers">
          Open developer portal
        </a>
      </p>
    </>
  );
}

const profile = { page: 'profile', label: 'Profile', component: ProfilePage };
const entries: readonly (SettingsItem & { component: ComponentType })[] = [
  profile,
  { page: 'status', label: 'Status', component: StatusPage },
  { page: 'account', label: 'Account', component: AccountPage },
  { page: 'appearance', label: 'Appearance', component: AppearancePage },
  { page: 'developer', label: 'Developer', component: DeveloperPage },
];

/** The settings of the user and of this client. */
export function OwnSettings(): JSX.Element {
  const { page = 'profile' } = useRoute().params;
  const current = entries.find((entry) => entry.page === page);
  if (!current) return <NotFound />;
  const Page = current.component;
  return (
    <SettingsFrame title="Your settings" base="/settings" items={entries} current={current}>
      <Page />
    </SettingsFrame>
  );
}
