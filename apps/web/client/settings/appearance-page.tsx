import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { chooseTheme, type Theme, theme, themes } from '../../ui/theme.ts';

const labels: Record<Theme, string> = { auto: 'Use system setting', light: 'Light', dark: 'Dark' };

/** The settings of the appearance in this browser. Changes apply at once. */
export function AppearancePage(): JSX.Element {
  const name = useId();
  return (
    <fieldset class="settings-choices">
      <legend>Theme</legend>
      {themes.map((one) => (
        <div key={one} class="check-field">
          <input type="radio" id={`${name}-${one}`} name={name} checked={theme.value === one} onChange={() => chooseTheme(one)} />
          <label for={`${name}-${one}`}>{labels[one]}</label>
        </div>
      ))}
      <p class="hint">Saved in this browser. It also applies to the developer portal.</p>
    </fieldset>
  );
}
