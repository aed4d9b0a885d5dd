/** The error code that `work` rejects with; `none` if it resolves. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: { code?: string }) => String(error.code),
  );

/** Ids that match nothing, most of them malformed. */
export const unknownIds = [
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
