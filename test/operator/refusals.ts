/** The code that `work` is refused with, or `none`. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (fault: { code?: string }) => String(fault.code),
  );

/** Ids that name nothing, as somebody might paste them. */
export const hostileIds = [
  '',
  '1',
  '$ne',
  '{"$ne":null}',
  ' 1111111111111111111',
  '1111111111111111111 ',
  '١١١١١١١١١١١١١١١١١١١',
  '🤖',
  '../../x',
  '1111111111111111111',
];
