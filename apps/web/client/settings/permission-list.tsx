import type { JSX } from 'preact';
import { hasPermission, permissionBits } from '../../../../lib/base/permissions.ts';
import { CheckField } from '../../ui/form.tsx';
import { allPermissionNames, permissionTexts } from '../../ui/permission-texts.ts';
import './permission-list.css';

/** A list of permissions to check, each with its explanation. Permissions outside `held` cannot be changed, and the list says so. */
export function PermissionList({
  legend,
  bits,
  held,
  onBits,
  disabled = false,
}: {
  legend: string;
  bits: number;
  held: number;
  onBits: (bits: number) => void;
  disabled?: boolean;
}): JSX.Element {
  return (
    <fieldset class="permission-list">
      <legend>{legend}</legend>
      {allPermissionNames.map((permission) => {
        const isHeld = hasPermission(held, permission);
        return (
          <CheckField
            key={permission}
            label={permission}
            hint={`${permissionTexts[permission]}${isHeld || disabled ? '' : ' You don’t have this permission, so you can’t change it.'}`}
            checked={hasPermission(bits, permission)}
            disabled={disabled || !isHeld}
            onChecked={(on) => onBits(on ? bits | permissionBits[permission] : bits & ~permissionBits[permission])}
          />
        );
      })}
    </fieldset>
  );
}
