import { type Assessment, worstOf } from '../page/rows.ts';
import { assess, type Measure } from './assessment.ts';

/** A row of a table without its past. */
export interface CurrentRow {
  name: string;
  now: string;
  /** The value of the latest reading, to be drawn; null if it is not known, undefined if there is nothing to draw. */
  value: number | null | undefined;
  assessment: Assessment;
  /** The row has values to remember, but is not among those that are shown. */
  isHidden?: boolean;
}

/** The worst assessment of several measures. */
function worst(first: Measure, ...others: Measure[]): Assessment {
  const assessments = [first, ...others].map(assess);
  const state = worstOf(assessments.map((one) => one.state));
  return assessments.find((one) => one.state === state) as Assessment;
}

/** Makes a row, with the worst assessment of its measures. `now` is null if it is not known. */
export const toRow = (name: string, now: string | null, value: CurrentRow['value'], ...measures: [Measure, ...Measure[]]): CurrentRow => ({
  name,
  now: now ?? 'unknown',
  value,
  assessment: worst(...measures),
});

/** The text of a value; null if it is not known. */
export const formatKnown = (value: number | null, format: (value: number) => string): string | null =>
  value === null ? null : format(value);
