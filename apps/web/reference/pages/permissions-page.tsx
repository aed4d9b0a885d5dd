import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Permission, permissionBits } from '../../../../lib/base/permissions.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { TextField } from '../../ui/form.tsx';
import { allPermissionNames, permissionTexts } from '../../ui/permission-texts.ts';
import { Page } from '../article.tsx';

/** The parameter of the page’s address that has the number. */
const parameter = 'p';
const allBits = Object.values(permissionBits).reduce((all, bit) => all | bit, 0);

/** Reads permissions as a number; null if the text is none, or has a bit that is no permission. */
function readBits(text: string): number | null {
  const value = Number(text);
  return text.trim() !== '' && Number.isInteger(value) && value >= 0 && value <= allBits ? value : null;
}

function PermissionRow({ name, bits, onBits }: { name: Permission; bits: number; onBits: (bits: number) => void }): JSX.Element {
  const bit = permissionBits[name];
  const id = name.toLowerCase().replaceAll(' ', '-');
  return (
    <tr id={id} class="ref-permission">
      <td>
        <input
          type="checkbox"
          id={`check-${id}`}
          checked={(bits & bit) !== 0}
          onChange={({ currentTarget }) => onBits(currentTarget.checked ? bits | bit : bits & ~bit)}
        />
      </td>
      <th scope="row">
        <label for={`check-${id}`}>{name}</label>
      </th>
      <td>
        <code>1 &lt;&lt; {Math.log2(bit)}</code> <span class="soft">= {bit}</span>
      </td>
      <td>{permissionTexts[name]}</td>
    </tr>
  );
}

/** The permission bits, and a calculator between names and the number. */
export function PermissionsPage(): JSX.Element {
  const text = useSignal(new URLSearchParams(location.search).get(parameter) ?? '0');
  const bits = readBits(text.value);
  const setBits = (value: number): void => {
    text.value = String(value);
  };
  useEffect(() => {
    if (bits !== null)
      history.replaceState(history.state, '', `${location.pathname}${bits === 0 ? '' : `?${parameter}=${bits}`}${location.hash}`);
  }, [bits]);
  return (
    <Page title="Permissions">
      <p class="ref-lead">
        Permissions are one number. Each bit is a permission. Tick the permissions that you need, or enter a number to see what it contains.
        The address of this page has the number, so that you can share it.
      </p>
      <div class="ref-calculator">
        <TextField
          label="Permissions as a number"
          value={text.value}
          onValue={(value) => (text.value = value)}
          error={bits === null ? `Enter a whole number from 0 to ${allBits}.` : undefined}
          autocomplete="off"
        />
        <CopyButton text={String(bits ?? 0)} what="the number" />
        <Button onClick={() => setBits(0)}>Clear</Button>
      </div>
      <div class="ref-scroll" tabIndex={0} role="region" aria-label="Permissions">
        <table class="ref-table">
          <thead>
            <tr>
              <th>
                <span class="visually-hidden">Chosen</span>
              </th>
              <th>Permission</th>
              <th>Bit</th>
              <th>What it allows</th>
            </tr>
          </thead>
          <tbody>
            {allPermissionNames.map((name) => (
              <PermissionRow key={name} name={name} bits={bits ?? 0} onBits={setBits} />
            ))}
          </tbody>
        </table>
      </div>
    </Page>
  );
}
