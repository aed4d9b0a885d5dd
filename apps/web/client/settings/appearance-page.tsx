import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { chooseTheme, type Theme, theme, themes } from '../../ui/theme.ts';

const labels: Record<Theme, string> = { auto: 'As the system says', light: 'Light', dark: 'Dark' };

/** The settings of the appearance in this browser. Changes apply at once. */
export function AppearancePage(): JSX.Element {
  const name = useId();
  return (
    <fieldset class="settings-choices">
      <legend>Colours</legend>
      {themes.map((one) => (
        <div key={one} class="check-field">
          <input type="radio" id={`${name}-${one}`} name={name} checked={theme.value === one} onChange={() => chooseTheme(one)} />
          <label for={`${name}-${one}`}>{labels[one]}</label>
        </div>
      ))}
      <p class="hint">Kept in this browser, for the developer portal too.</p>
    </fieldset>
  );
}
